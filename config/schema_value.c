/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

void schema_store(void *field, uint32_t size, uint64_t value)
{
	uint16_t half = (uint16_t)value;
	uint32_t word = (uint32_t)value;
	uint8_t byte = (uint8_t)value;

	switch (size) {
	case 1:
		memcpy(field, &byte, 1);
		break;
	case 2:
		memcpy(field, &half, 2);
		break;
	case 4:
		memcpy(field, &word, 4);
		break;
	default:
		assert(size == 8 && "a number's field has 1, 2, 4 or 8 bytes");
		memcpy(field, &value, 8);
	}
}

static uint64_t field_max(uint32_t size)
{
	return size >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
}

static uint64_t row_max(const struct schema_row *row)
{
	if (row->max != 0)
		return row->max;
	return row->type == SCHEMA_SHARE ? 1000000 : field_max(row->size);
}

const char *schema_format_range(const struct schema_row *row, char *buffer, size_t size)
{
	enum schema_type type = row->type;
	char low[32];
	const char *unit;
	char high[32];

	buffer[0] = '\0';
	switch (type) {
	case SCHEMA_STRING:
	case SCHEMA_TEXT:
	case SCHEMA_NAME:
		if (type != SCHEMA_TEXT)
			snprintf(buffer, size, "1..%" PRIu64 " characters",
				 row->max != 0 ? row->max : row->size - 1);
		break;
	case SCHEMA_SET:
	case SCHEMA_UINT:
		if (type == SCHEMA_SET || row->max != 0)
			snprintf(buffer, size, "%" PRIu64 "..%" PRIu64, row->min, row_max(row));
		break;
	case SCHEMA_RATE:
	case SCHEMA_SIZE:
	case SCHEMA_TIME:
	case SCHEMA_LENGTH:
	case SCHEMA_SHARE:
	case SCHEMA_RATIO:
		unit = type == SCHEMA_SIZE && row_max(row) < 100000 ? " bytes" : "";
		if (row->max != 0 || row->min != 0 || type == SCHEMA_SHARE)
			snprintf(buffer, size, "%s..%s%s",
				 schema_format_number(type, row->min, low, sizeof(low)),
				 schema_format_number(type, row_max(row), high, sizeof(high)),
				 unit);
		break;
	default:
		break;
	}
	return buffer;
}

static int out_of_range(const struct schema_row *row, char *why, size_t why_size)
{
	char range[80];

	snprintf(why, why_size, "is out of range: must be %s%s%s",
		 schema_format_range(row, range, sizeof(range)), row->unit != NULL ? " " : "",
		 row->unit != NULL ? row->unit : "");
	return -ERANGE;
}

static int parse_number(const struct schema_row *row, const char *text, void *field, char *why,
			size_t why_size)
{
	uint64_t value;
	int rc = schema_parse_number(row->type, text, &value, why, why_size);

	if (rc != 0)
		return rc;
	if (value < row->min || value > row_max(row))
		return out_of_range(row, why, why_size);
	schema_store(field, row->size, value);
	return 0;
}

static int parse_bool(const char *text, void *field, char *why, size_t why_size)
{
	bool value = strcmp(text, "true") == 0;

	if (!value && strcmp(text, "false") != 0) {
		snprintf(why, why_size, "is neither true nor false");
		return -EINVAL;
	}
	memcpy(field, &value, sizeof(value));
	return 0;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* A whole number of at most 9 digits, or a decimal of at most 9 in all; @return what follows, or NULL */
static const char *ratio_part(const char *text, bool decimals, uint32_t *digits, uint32_t *scale)
{
	uint32_t count = 0;
	bool point = false;

	*digits = 0;
	*scale = 1;
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text) || (decimals && !point && *text == '.'); text++) {
		if (*text == '.') {
			point = true;
			if (!isdigit((unsigned char)text[1]))
				return NULL;
			continue;
		}
		if (++count > 9)
			return NULL;
		*digits = *digits * 10 + (uint32_t)(*text - '0');
		*scale *= point ? 10 : 1;
	}
	return text;
}

static int parse_ratio(const struct schema_row *row, const char *text, void *field, char *why,
		       size_t why_size)
{
	struct schema_ratio ratio;
	const char *rest = ratio_part(text, true, &ratio.numerator, &ratio.denominator);
	uint32_t divisor;
	uint32_t scale;

	if (rest != NULL && *rest == '/' && ratio.denominator == 1)
		rest = ratio_part(rest + 1, false, &ratio.denominator, &scale);
	if (rest == NULL || *rest != '\0' || ratio.denominator == 0) {
		snprintf(why, why_size,
			 "is not a ratio: write a fraction or a number of at most 9 digits, such "
			 "as 1/2, 2 or 0.25");
		return -EINVAL;
	}
	if (row->max != 0 && (ratio.numerator * UINT64_C(1000000) < row->min * ratio.denominator ||
			      ratio.numerator * UINT64_C(1000000) > row->max * ratio.denominator))
		return out_of_range(row, why, why_size);
	divisor = greatest_divisor(ratio.numerator, ratio.denominator);
	ratio.numerator /= divisor;
	ratio.denominator /= divisor;
	memcpy(field, &ratio, sizeof(ratio));
	return 0;
}

static int parse_text(const struct schema_row *row, const char *text, void *field, char *why,
		      size_t why_size)
{
	size_t length = strlen(text);
	const char *c;

	if (length == 0) {
		snprintf(why, why_size, "is empty");
		return -EINVAL;
	}
	for (c = text; *c != '\0'; c++) {
		bool right = row->type == SCHEMA_NAME
				     ? isalnum((unsigned char)*c) ||
					       (c != text && strchr("-_.", *c) != NULL)
				     : (unsigned char)*c >= 0x20 && *c != 0x7f;

		if (!right && row->type == SCHEMA_NAME) {
			snprintf(why, why_size,
				 "is not a name: use letters, digits, -, _ and ., beginning with "
				 "a letter or digit");
			return -EINVAL;
		}
		if (!right) {
			snprintf(why, why_size, "holds a control character");
			return -EINVAL;
		}
	}
	if (length >= row->size || (row->max != 0 && length > row->max)) {
		snprintf(why, why_size, "is too long: %zu characters, at most %" PRIu64, length,
			 row->max != 0 && row->max < row->size ? row->max
							       : (uint64_t)row->size - 1);
		return -ERANGE;
	}
	memcpy(field, text, length + 1);
	return 0;
}

/* The words of a row, "a, b or c". */
static void list_words(const struct schema_word *words, char *buffer, size_t size)
{
	const struct schema_word *word;
	size_t used = 0;

	buffer[0] = '\0';
	for (word = words; word->word != NULL && used < size; word++) {
		int n = snprintf(buffer + used, size - used, "%s%s",
				 word == words          ? ""
				 : word[1].word == NULL ? " or "
							: ", ",
				 word->word);

		used += n > 0 ? (size_t)n : 0;
	}
}

static int parse_enum(const struct schema_row *row, const char *text, void *field, char *why,
		      size_t why_size)
{
	const struct schema_word *word;
	char words[160];

	for (word = row->words; word->word != NULL; word++) {
		if (strcmp(word->word, text) == 0) {
			schema_store(field, row->size, word->value);
			return 0;
		}
	}
	list_words(row->words, words, sizeof(words));
	snprintf(why, why_size, "is not %s%s", row->words[1].word != NULL ? "one of " : "", words);
	return -EINVAL;
}

static void set_bit(void *field, uint32_t size, uint64_t bit)
{
	uint64_t bits[1];

	if (size > 8) {
		((uint64_t *)field)[bit / 64] |= UINT64_C(1) << bit % 64;
		return;
	}
	bits[0] = 0;
	/* Little endian or big: go through the width of the field. */
	switch (size) {
	case 1:
		bits[0] = *(uint8_t *)field;
		break;
	case 2:
		bits[0] = *(uint16_t *)field;
		break;
	case 4:
		bits[0] = *(uint32_t *)field;
		break;
	default:
		bits[0] = *(uint64_t *)field;
	}
	schema_store(field, size, bits[0] | UINT64_C(1) << bit);
}

/* One member of a set: adds bits to the field, so a set is parsed member by member. */
static int parse_member(const struct schema_row *row, const char *text, void *field, char *why,
			size_t why_size)
{
	const struct schema_word *word;
	uint32_t low;
	uint32_t high;
	uint32_t scale;
	const char *rest;

	for (word = row->words; word != NULL && word->word != NULL; word++) {
		if (strcmp(word->word, text) == 0) {
			set_bit(field, row->size, word->value);
			return 0;
		}
	}
	if (row->words != NULL)
		return parse_enum(row, text, field, why, why_size);
	rest = ratio_part(text, false, &low, &scale);
	high = low;
	if (rest != NULL && *rest == '-')
		rest = ratio_part(rest + 1, false, &high, &scale);
	if (rest == NULL || *rest != '\0') {
		snprintf(why, why_size,
			 "is neither a number nor a range: write [8, 10] or [8-15], each %" PRIu64
			 "..%" PRIu64,
			 row->min, row_max(row));
		return -EINVAL;
	}
	if (low < row->min || high > row_max(row))
		return out_of_range(row, why, why_size);
	if (low > high) {
		snprintf(why, why_size, "is a range that runs backwards: write %u-%u", high, low);
		return -ERANGE;
	}
	for (; low <= high; low++)
		set_bit(field, row->size, low);
	return 0;
}

static int parse_mac(const char *text, uint8_t *field, char *why, size_t why_size)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t mac[6];
	size_t i;

	for (i = 0; i < 17; i++) {
		const char *digit;
		char c = (char)tolower((unsigned char)text[i]);

		if (i % 3 == 2 ? c != ':' : (c == '\0' || strchr(digits, c) == NULL))
			break;
		if (i % 3 == 2)
			continue;
		digit = strchr(digits, c);
		if (digit == NULL)
			break;
		mac[i / 3] = (uint8_t)((i % 3 == 0 ? 0 : mac[i / 3] << 4) | (digit - digits));
	}
	if (i < 17 || text[17] != '\0') {
		snprintf(why, why_size,
			 "is not a MAC address: write six bytes in hexadecimal, such "
			 "as 02:00:00:00:10:01");
		return -EINVAL;
	}
	if ((mac[0] & 1) != 0 || memcmp(mac, "\0\0\0\0\0\0", 6) == 0) {
		snprintf(why, why_size, "is not the MAC address of one device: %s",
			 (mac[0] & 1) != 0 ? "its first byte is odd, which means a group"
					   : "it is all zero");
		return -ERANGE;
	}
	memcpy(field, mac, 6);
	return 0;
}

static bool ip_from_text(const char *text, struct config_ip *ip)
{
	*ip = (struct config_ip){0};
	if (inet_pton(AF_INET, text, ip->bytes) == 1)
		ip->family = 4;
	else if (inet_pton(AF_INET6, text, ip->bytes) == 1)
		ip->family = 6;
	return ip->family != 0;
}

static int parse_ip(const char *text, void *field, char *why, size_t why_size)
{
	struct config_ip ip;

	if (!ip_from_text(text, &ip)) {
		snprintf(why, why_size,
			 "is not an IP address: write one such as 10.1.0.1 or fd00::1%s",
			 strchr(text, '/') != NULL ? ", without a prefix length" : "");
		return -EINVAL;
	}
	memcpy(field, &ip, sizeof(ip));
	return 0;
}

static int parse_prefix(const struct schema_row *row, const char *text, void *field, char *why,
			size_t why_size)
{
	bool network = row->type == SCHEMA_PREFIX;
	struct config_prefix prefix = {0};
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	uint8_t length_max;
	uint32_t length;
	uint32_t scale;
	uint32_t bit;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address))
		goto malformed;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	slash = ratio_part(slash + 1, false, &length, &scale);
	if (!ip_from_text(address, &prefix.ip) || slash == NULL || *slash != '\0')
		goto malformed;
	length_max = prefix.ip.family == 4 ? 32 : 128;
	if (length > length_max) {
		snprintf(why, why_size, "has a prefix length of %u: must be 0..%u", length,
			 length_max);
		return -ERANGE;
	}
	prefix.length = (uint8_t)length;
	for (bit = length; network && bit < length_max; bit++) {
		if ((prefix.ip.bytes[bit / 8] & (0x80 >> bit % 8)) == 0)
			continue;
		snprintf(why, why_size,
			 "is not a network: bits are set beyond the first %u (is it an address "
			 "with /%u?)",
			 length, length_max);
		return -ERANGE;
	}
	memcpy(field, &prefix, sizeof(prefix));
	return 0;
malformed:
	snprintf(why, why_size, "is not %s: write one with its prefix length, such as %s",
		 network ? "a network" : "an interface's address",
		 network ? "10.2.0.0/24 or fd00:2::/64" : "10.1.0.1/24 or fd00:1::1/64");
	return -EINVAL;
}

int schema_parse_value(const struct schema_row *row, const char *text, void *field, char *why,
		       size_t why_size)
{
	switch (row->type) {
	case SCHEMA_BOOL:
		return parse_bool(text, field, why, why_size);
	case SCHEMA_UINT:
	case SCHEMA_RATE:
	case SCHEMA_SIZE:
	case SCHEMA_TIME:
	case SCHEMA_LENGTH:
	case SCHEMA_SHARE:
		return parse_number(row, text, field, why, why_size);
	case SCHEMA_RATIO:
		return parse_ratio(row, text, field, why, why_size);
	case SCHEMA_NAME:
	case SCHEMA_STRING:
	case SCHEMA_TEXT:
		return parse_text(row, text, field, why, why_size);
	case SCHEMA_ENUM:
		return parse_enum(row, text, field, why, why_size);
	case SCHEMA_SET:
		return parse_member(row, text, field, why, why_size);
	case SCHEMA_MAC:
		return parse_mac(text, field, why, why_size);
	case SCHEMA_IP:
		return parse_ip(text, field, why, why_size);
	case SCHEMA_PREFIX:
	case SCHEMA_ADDRESS:
		return parse_prefix(row, text, field, why, why_size);
	case SCHEMA_CUSTOM:
		return row->parse(text, field, why, why_size);
	case SCHEMA_NONE:
	case SCHEMA_MAP:
		break;
	}
	snprintf(why, why_size, "is not a single value");
	return -EINVAL;
}
