/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/why_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/why/why.h"

#define FINDINGS_MAX     12
#define WORKER_NAME_SIZE 96

/* A result as it is looked at. */
struct run {
	json_t *result;
	json_t *node;     /* name -> {"host": bool, "leaf": bool, "index"} */
	json_t *senders;  /* name of a host -> {name of a sender: true} */
	json_t *lossless; /* name of a class that is -> true */
	struct why_link *links;
	struct why_worker *workers;
	char (*names)[WORKER_NAME_SIZE];
	struct why_facts facts;
	double stretch; /* shares are of the run; times this, of the time until its traffic had ended */
};

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text == NULL ? "" : text;
}

static uint64_t number_of(json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

/* A share, of the time until the traffic had ended. */
static uint32_t ppm_of(const struct run *run, json_t *object, const char *key)
{
	double value = run->stretch * json_number_value(json_object_get(object, key));

	return value <= 0 ? 0 : value >= 1 ? WHY_PPM : (uint32_t)(value * WHY_PPM);
}

static bool flag_of(json_t *names, const char *name, const char *key)
{
	return json_is_true(json_object_get(json_object_get(names, name), key));
}

static void learn_nodes(struct run *run)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(run->result, "nodes"), i, entry)
	{
		json_t *node = json_object();

		json_object_set_new(node, "host",
				    json_boolean(strcmp(text_of(entry, "kind"), "host") == 0));
		json_object_set_new(node, "index", json_integer((json_int_t)i));
		json_object_set_new(run->node, text_of(entry, "name"), node);
	}
	/* A switch that a host is on is a leaf. */
	json_array_foreach(json_object_get(run->result, "links"), i, entry)
	{
		if (flag_of(run->node, text_of(entry, "to"), "host"))
			json_object_set_new(json_object_get(run->node, text_of(entry, "from")),
					    "leaf", json_true());
	}
}

static void learn_classes(struct run *run)
{
	json_t *link, *class;
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(run->result, "links"), i, link)
	{
		json_object_foreach(json_object_get(link, "classes"), name, class)
		{
			if (json_is_true(json_object_get(class, "lossless")))
				json_object_set_new(run->lossless, name, json_true());
		}
	}
}

static void learn_senders(struct run *run)
{
	json_t *flow;
	size_t i;

	json_array_foreach(json_object_get(run->result, "flows"), i, flow)
	{
		const char *to = text_of(flow, "dst");
		json_t *senders = json_object_get(run->senders, to);

		if (json_object_get(run->lossless, text_of(flow, "class")) == NULL)
			continue;
		if (senders == NULL) {
			senders = json_object();
			json_object_set_new(run->senders, to, senders);
		}
		json_object_set_new(senders, text_of(flow, "src"), json_true());
	}
}

/* Two numbers of a switch with hosts: what leaves it towards other switches, and what reaches it from them. */
static uint32_t group_of(const struct run *run, const char *from, const char *to)
{
	if (flag_of(run->node, to, "host") || flag_of(run->node, from, "host"))
		return WHY_GROUP_NONE;
	if (flag_of(run->node, from, "leaf"))
		return 2 * (uint32_t)number_of(json_object_get(run->node, from), "index");
	if (flag_of(run->node, to, "leaf"))
		return 2 * (uint32_t)number_of(json_object_get(run->node, to), "index") + 1;
	return WHY_GROUP_NONE;
}

static void fill_classes(struct why_link *link, json_t *classes)
{
	uint64_t most_bytes = 0;
	const char *name;
	json_t *class;

	json_object_foreach(classes, name, class)
	{
		uint64_t bytes = number_of(class, "bytes");

		if (json_is_true(json_object_get(class, "lossless"))) {
			link->lossless_bytes += bytes;
			continue;
		}
		link->lossy_bytes += bytes;
		link->lossy_packets += number_of(class, "packets");
		link->lossy_dropped += number_of(class, "dropped");
		if (bytes > most_bytes) {
			most_bytes = bytes;
			link->lossy = name;
		}
	}
}

static void fill_link(struct run *run, json_t *from)
{
	struct why_link *link = &run->links[run->facts.link_count++];
	const char *to = text_of(from, "to");

	link->name = text_of(from, "direction");
	link->group = group_of(run, text_of(from, "from"), to);
	link->rate_bps = number_of(from, "speed_bps");
	link->use_ppm = ppm_of(run, from, "utilisation");
	link->bytes = number_of(from, "bytes");
	link->packets = number_of(from, "packets");
	fill_classes(link, json_object_get(from, "classes"));
	/* A leaf that pauses a host passes on what it has met further on. */
	if (flag_of(run->node, text_of(from, "from"), "host"))
		return;
	link->to = to;
	link->to_host = flag_of(run->node, to, "host");
	link->paused_ppm = ppm_of(run, from, "paused_share");
	link->marked = number_of(from, "marked");
	link->queue_max_bytes = number_of(from, "queue_max_bytes");
	link->senders = (uint32_t)json_object_size(json_object_get(run->senders, to));
}

static void fill_worker(struct run *run, json_t *from)
{
	size_t i = run->facts.worker_count++;
	struct why_worker *worker = &run->workers[i];

	snprintf(run->names[i], sizeof(run->names[i]), "worker %" JSON_INTEGER_FORMAT " of %s",
		 json_integer_value(json_object_get(from, "worker")), text_of(from, "switch"));
	worker->name = run->names[i];
	worker->late_ppm = ppm_of(run, from, "late_share");
	worker->longest_ns = number_of(from, "late_max_ns");
}

/* When the last of these had ended; 0: one hasn't. @param time the key of how long it took */
static uint64_t end_of(json_t *jobs, const char *time)
{
	uint64_t end_ns = 1;
	json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		uint64_t time_ns = number_of(job, time),
			 at_ns = number_of(job, "start_ns") + time_ns;

		if (time_ns == 0)
			return 0;
		if (at_ns > end_ns)
			end_ns = at_ns;
	}
	return end_ns;
}

/* What the fabric did when nobody waited for it any more doesn't count. */
static void learn_time(struct run *run)
{
	uint64_t all_ns = number_of(run->result, "duration_ns");
	uint64_t flows_ns = end_of(json_object_get(run->result, "flows"), "fct_ns");
	uint64_t collectives_ns = end_of(json_object_get(run->result, "collectives"), "time_ns");
	uint64_t last_ns = flows_ns > collectives_ns ? flows_ns : collectives_ns;

	run->facts.time_ns = all_ns;
	run->stretch = 1;
	if (flows_ns == 0 || collectives_ns == 0 || last_ns <= 1 || last_ns >= all_ns ||
	    number_of(run->result, "flows_unfinished") != 0)
		return;
	run->facts.time_ns = last_ns;
	run->stretch = (double)all_ns / (double)last_ns;
}

static void fill(struct run *run)
{
	json_t *links = json_object_get(run->result, "links");
	json_t *workers = json_object_get(run->result, "workers"), *entry;
	size_t i;

	run->node = json_object();
	run->senders = json_object();
	run->lossless = json_object();
	learn_time(run);
	learn_nodes(run);
	learn_classes(run);
	learn_senders(run);
	run->links = allocate((json_array_size(links) + 1) * sizeof(*run->links));
	run->workers = allocate((json_array_size(workers) + 1) * sizeof(*run->workers));
	run->names = allocate((json_array_size(workers) + 1) * sizeof(*run->names));
	json_array_foreach(links, i, entry)
	{
		fill_link(run, entry);
	}
	json_array_foreach(workers, i, entry)
	{
		fill_worker(run, entry);
	}
	run->facts.links = run->links;
	run->facts.workers = run->workers;
	run->facts.lossless_drops = number_of(run->result, "lossless_drops");
}

static void free_run(struct run *run)
{
	json_decref(run->node);
	json_decref(run->senders);
	json_decref(run->lossless);
	free(run->links);
	free(run->workers);
	free(run->names);
}

/* Who was last in each collective, most often: a hint, as nobody knows why it was. */
static void print_stragglers(json_t *result, FILE *out)
{
	json_t *collective, *times = json_object(), *time;
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(result, "collectives"), i, collective)
	{
		const char *straggler = text_of(collective, "straggler");

		if (straggler[0] != '\0')
			json_object_set_new(
				times, straggler,
				json_integer(json_integer_value(json_object_get(times, straggler)) +
					     1));
	}
	if (json_object_size(times) != 0)
		fputs("\nLast to finish, in how many collectives: ", out);
	i = 0;
	json_object_foreach(times, name, time)
	{
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, i++ == 0 ? "" : ", ", name,
			json_integer_value(time));
	}
	if (i != 0)
		fputc('\n', out);
	json_decref(times);
}

int why_result_print(json_t *result, bool as_json, FILE *out)
{
	struct why_finding findings[FINDINGS_MAX];
	struct run run = {.result = result};
	size_t count;

	if (!json_is_array(json_object_get(result, "nodes")) ||
	    !json_is_array(json_object_get(result, "workers")))
		return -EINVAL;
	fill(&run);
	count = why_rank(&run.facts, findings, FINDINGS_MAX);
	why_write(&run.facts, findings, count, as_json, out);
	if (!as_json)
		print_stragglers(result, out);
	free_run(&run);
	return 0;
}
