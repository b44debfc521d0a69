/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/why/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX       3 /* of one cause */
/* Frames that wait for a worker for less than this share of the time do so on any machine. */
#define LATE_LEAST_PPM   20000u
/* A link that was used less than this is not what anybody waited for. */
#define USED_LEAST_PPM   300000u
/* Two links differ by that much in what was hashed to them without either being full. */
#define UNEVEN_LEAST_PPM 100000u

static const char unseen[] =
	"Not visible in the fabric: what hosts do before they send (their processors, accelerators, "
	"PCIe), and whether they had anything to send.";

const char *why_cause_word(enum why_cause cause)
{
#define CAUSE_WORD_(id, word) word,
	static const char *const words[] = {WHY_CAUSES(CAUSE_WORD_)};
#undef CAUSE_WORD_

	return (unsigned int)cause < WHY_CAUSE_COUNT ? words[cause] : "?";
}

struct list {
	struct why_finding *finding;
	size_t count, max;
};

static uint32_t times_ppm(uint32_t a_ppm, uint32_t b_ppm)
{
	return (uint32_t)((uint64_t)a_ppm * b_ppm / WHY_PPM);
}

static double percent(uint64_t ppm)
{
	return (double)ppm / 1e4;
}

static double part_percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* Begin a finding, or NULL when it isn't worth one or there is no room. */
static struct why_finding *found(struct list *list, enum why_cause cause, const char *where,
				 uint32_t share_ppm)
{
	struct why_finding *finding;

	if (share_ppm < WHY_LEAST_PPM || list->count == list->max)
		return NULL;
	finding = &list->finding[list->count++];
	finding->cause = cause;
	finding->where = where;
	finding->share_ppm = share_ppm > WHY_PPM ? WHY_PPM : share_ppm;
	finding->text[0] = '\0';
	return finding;
}

__attribute__((format(printf, 2, 3))) static void say(struct why_finding *finding,
						      const char *format, ...)
{
	size_t used = strlen(finding->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->text + used, sizeof(finding->text) - used, format, arguments);
	va_end(arguments);
}

static void say_marks(struct why_finding *finding, const struct why_link *link)
{
	if (link->marked != 0)
		say(finding, ", %.1f %% of its packets were marked",
		    part_percent(link->marked, link->packets));
	if (link->queue_max_bytes != 0)
		say(finding, ", its queue grew to %.0f KB", (double)link->queue_max_bytes / 1000);
}

static void look_at_pauses(struct list *list, const struct why_link *link)
{
	uint32_t share_ppm = link->to_host ? link->paused_ppm : link->paused_ppm / 2;
	struct why_finding *finding = found(list, WHY_PAUSING_PEER, link->name, share_ppm);
	const char *peer = link->to != NULL ? link->to : "the peer";

	if (finding == NULL)
		return;
	say(finding, "%s paused %s%s%s for %.1f %% of the time", peer, link->name,
	    link->priority != NULL ? " in priority " : "",
	    link->priority != NULL ? link->priority : "", percent(link->paused_ppm));
	if (link->pauses != 0)
		say(finding, ", %" PRIu64 " times", link->pauses);
	if (link->storms != 0)
		say(finding, ", and the watchdog saw a storm");
	say(finding, link->to_host
			     ? ": it takes less than is sent to it, and whoever shares a queue "
			       "with that waits too"
			     : ": it passes on what it has met itself, so look there next");
}

struct group {
	uint64_t bytes, links, rate_bps, up_bps;
	uint64_t use_ppm; /* sum, of those that are up */
	uint64_t up;
};

static void sum_group(const struct why_facts *facts, uint32_t id, struct group *group)
{
	memset(group, 0, sizeof(*group));
	for (size_t i = 0; i < facts->link_count; i++) {
		const struct why_link *link = &facts->links[i];

		if (link->group != id)
			continue;
		group->links++;
		group->rate_bps += link->rate_bps;
		if (link->down)
			continue;
		group->up++;
		group->up_bps += link->rate_bps;
		group->bytes += link->bytes;
		group->use_ppm += link->use_ppm;
	}
}

static void look_at_uplink(const struct why_facts *facts, struct list *list,
			   const struct why_link *link)
{
	struct why_finding *finding;
	struct group group;
	uint32_t mean_ppm;

	if (link->group == WHY_GROUP_NONE)
		return;
	sum_group(facts, link->group, &group);
	if (link->down) {
		finding = found(
			list, WHY_LINK_DOWN, link->name,
			group.rate_bps == 0 || group.up == 0
				? WHY_PPM
				: times_ppm((uint32_t)(link->rate_bps * WHY_PPM / group.rate_bps),
					    (uint32_t)(group.use_ppm / group.up)));
		if (finding != NULL)
			say(finding,
			    "%s is down: %.0f %% of what its %" PRIu64
			    " uplinks can carry is missing, the others are used to %.0f %%",
			    link->name, part_percent(link->rate_bps, group.rate_bps), group.links,
			    percent(group.up == 0 ? 0 : group.use_ppm / group.up));
		return;
	}
	if (group.up < 2 || link->use_ppm < USED_LEAST_PPM)
		return;
	mean_ppm = (uint32_t)(group.use_ppm / group.up);
	if (link->use_ppm < mean_ppm + UNEVEN_LEAST_PPM)
		return;
	/* (1 - mean / use) * use */
	finding = found(list, WHY_HOT_UPLINK, link->name, link->use_ppm - mean_ppm);
	if (finding == NULL)
		return;
	say(finding,
	    "%s carried %.0f %% of the bytes of its %" PRIu64
	    " links (fair share %.0f %%) and was used to %.0f %%, the mean of them to %.0f %%",
	    link->name, part_percent(link->bytes, group.bytes), group.up,
	    group.up_bps == 0 ? 100.0 / (double)group.up
			      : part_percent(link->rate_bps, group.up_bps),
	    percent(link->use_ppm), percent(mean_ppm));
	say_marks(finding, link);
}

/* The mean use of all links to hosts. */
static uint32_t hosts_use_ppm(const struct why_facts *facts)
{
	uint64_t sum_ppm = 0, hosts = 0;

	for (size_t i = 0; i < facts->link_count; i++) {
		if (!facts->links[i].to_host)
			continue;
		sum_ppm += facts->links[i].use_ppm;
		hosts++;
	}
	return hosts == 0 ? 0 : (uint32_t)(sum_ppm / hosts);
}

static void look_at_host(const struct why_facts *facts, struct list *list,
			 const struct why_link *link)
{
	uint32_t mean_ppm = hosts_use_ppm(facts);
	struct why_finding *finding;

	if (!link->to_host || link->senders < 2 || link->use_ppm < USED_LEAST_PPM ||
	    link->use_ppm <= mean_ppm)
		return;
	/* (1 - mean / use) * use * (1 - 1/n) */
	finding = found(list, WHY_INCAST, link->name,
			(uint32_t)((uint64_t)(link->use_ppm - mean_ppm) * (link->senders - 1) /
				   link->senders));
	if (finding == NULL)
		return;
	say(finding,
	    "at least %" PRIu32 " senders shared the link to %s, which was used to %.0f %%",
	    link->senders, link->to != NULL ? link->to : link->name, percent(link->use_ppm));
	say_marks(finding, link);
	say(finding, ": an incast, each of them got 1/%" PRIu32 " of it or less", link->senders);
}

static void say_lossy_share(struct list *list, const struct why_link *link, uint32_t share_ppm)
{
	struct why_finding *finding = found(list, WHY_LOSSY_CLASS, link->name, share_ppm);

	if (finding == NULL)
		return;
	say(finding,
	    "%s took %.0f %% of the bytes of %s, beside lossless traffic, and the link was used to "
	    "%.0f %%",
	    link->lossy != NULL ? link->lossy : "lossy traffic",
	    part_percent(link->lossy_bytes, link->lossless_bytes + link->lossy_bytes), link->name,
	    percent(link->use_ppm));
	say_marks(finding, link);
	say(finding, ": a burst of storage or a checkpoint looks like that");
}

static void say_lossy_drops(struct list *list, const struct why_link *link, uint32_t share_ppm)
{
	struct why_finding *finding = found(list, WHY_LOSSY_CLASS, link->name, share_ppm);

	if (finding == NULL)
		return;
	say(finding,
	    "%s lost %.1f %% of its packets at %s, which was used to %.0f %%: more was sent there than it "
	    "takes, as in a burst of storage or a checkpoint",
	    link->lossy != NULL ? link->lossy : "lossy traffic",
	    part_percent(link->lossy_dropped, link->lossy_packets + link->lossy_dropped),
	    link->name, percent(link->use_ppm));
}

static void look_at_lossy(struct list *list, const struct why_link *link)
{
	uint64_t bytes = link->lossless_bytes + link->lossy_bytes;
	uint64_t packets = link->lossy_packets + link->lossy_dropped;
	uint32_t share_ppm = 0, drops_ppm = 0;

	if (link->use_ppm < USED_LEAST_PPM)
		return;
	if (link->lossless_bytes != 0)
		share_ppm = (uint32_t)((unsigned __int128)link->lossy_bytes * WHY_PPM / bytes);
	if (link->lossy_dropped != 0)
		drops_ppm = (uint32_t)((unsigned __int128)link->lossy_dropped * WHY_PPM / packets);
	if (drops_ppm > share_ppm)
		say_lossy_drops(list, link, times_ppm(drops_ppm, link->use_ppm));
	else
		say_lossy_share(list, link, times_ppm(share_ppm, link->use_ppm));
}

static void look_at_worker(struct list *list, const struct why_worker *worker)
{
	struct why_finding *finding;

	if (worker->late_ppm < LATE_LEAST_PPM)
		return;
	finding = found(list, WHY_SLOW_WORKER, worker->name, worker->late_ppm);
	if (finding == NULL)
		return;
	say(finding, "frames waited for %s for %.1f %% of the time", worker->name,
	    percent(worker->late_ppm));
	if (worker->stalls != 0)
		say(finding, ", it stood still %" PRIu64 " times", worker->stalls);
	if (worker->longest_ns != 0)
		say(finding, ", for %.1f ms at most", (double)worker->longest_ns / 1e6);
	if (worker->busy_ppm != 0)
		say(finding, ", it was busy for %.0f %%", percent(worker->busy_ppm));
	say(finding, ": too much for it, or something else runs on its core");
}

static int by_share(const void *a, const void *b)
{
	const struct why_finding *left = a, *right = b;

	if (left->share_ppm != right->share_ppm)
		return left->share_ppm > right->share_ppm ? -1 : 1;
	if (left->cause != right->cause)
		return left->cause < right->cause ? -1 : 1;
	return strcmp(left->where, right->where);
}

/* Keep PLACES_MAX of each cause of a sorted list, and say how many more there are. */
static size_t keep_first(struct why_finding *findings, size_t count)
{
	size_t places[WHY_CAUSE_COUNT] = {0}, last[WHY_CAUSE_COUNT] = {0}, kept = 0;

	for (size_t i = 0; i < count; i++) {
		enum why_cause cause = findings[i].cause;

		if (places[cause]++ >= PLACES_MAX)
			continue;
		last[cause] = kept;
		if (kept != i)
			findings[kept] = findings[i];
		kept++;
	}
	for (size_t cause = 0; cause < WHY_CAUSE_COUNT; cause++)
		if (places[cause] > PLACES_MAX)
			say(&findings[last[cause]], " (and so at %zu more places)",
			    places[cause] - PLACES_MAX);
	return kept;
}

size_t why_rank(const struct why_facts *facts, struct why_finding *findings, size_t max)
{
	struct list list = {NULL, 0, 4 * facts->link_count + facts->worker_count + 1};
	struct why_finding *finding;
	size_t kept;

	list.finding = calloc(list.max, sizeof(*list.finding));
	if (list.finding == NULL)
		return 0;
	if (facts->lossless_drops != 0 &&
	    (finding = found(&list, WHY_LOSSLESS_LOSS, "fabric", WHY_PPM)) != NULL)
		say(finding,
		    "%" PRIu64 " lossless packets were lost: hosts send all again since then; "
		    "see the headroom and the receive rings",
		    facts->lossless_drops);
	for (size_t i = 0; i < facts->link_count; i++) {
		look_at_pauses(&list, &facts->links[i]);
		look_at_uplink(facts, &list, &facts->links[i]);
		look_at_host(facts, &list, &facts->links[i]);
		look_at_lossy(&list, &facts->links[i]);
	}
	for (size_t i = 0; i < facts->worker_count; i++)
		look_at_worker(&list, &facts->workers[i]);
	qsort(list.finding, list.count, sizeof(*list.finding), by_share);
	kept = keep_first(list.finding, list.count);
	if (kept > max)
		kept = max;
	memcpy(findings, list.finding, kept * sizeof(*findings));
	free(list.finding);
	return kept;
}

json_t *why_json(const struct why_facts *facts, const struct why_finding *findings, size_t count)
{
	json_t *object = json_object(), *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *finding = json_object();

		json_object_set_new(finding, "cause",
				    json_string(why_cause_word(findings[i].cause)));
		json_object_set_new(finding, "where", json_string(findings[i].where));
		json_object_set_new(finding, "share",
				    json_real((double)findings[i].share_ppm / WHY_PPM));
		json_object_set_new(finding, "text", json_string(findings[i].text));
		json_array_append_new(array, finding);
	}
	json_object_set_new(object, "time_ns", json_integer((json_int_t)facts->time_ns));
	json_object_set_new(object, "findings", array);
	json_object_set_new(object, "unseen", json_string(unseen));
	return object;
}

static void write_words(const struct why_facts *facts, const struct why_finding *findings,
			size_t count, FILE *out)
{
	if (count == 0)
		fprintf(out,
			"Nothing in the fabric held traffic up in these %.3g ms: no pauses, no hot "
			"link, no worker that was late.\n",
			(double)facts->time_ns / 1e6);
	else
		fprintf(out, "What slowed traffic in these %.3g ms, worst first:\n\n",
			(double)facts->time_ns / 1e6);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%2zu. %-13s up to %3.0f %%  %s.\n", i + 1,
			why_cause_word(findings[i].cause), percent(findings[i].share_ppm),
			findings[i].text);
	fprintf(out, "\n%s\n", unseen);
}

void why_write(const struct why_facts *facts, const struct why_finding *findings, size_t count,
	       bool as_json, FILE *out)
{
	json_t *object;

	if (!as_json) {
		write_words(facts, findings, count, out);
		return;
	}
	object = why_json(facts, findings, count);
	json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', out);
	json_decref(object);
}
