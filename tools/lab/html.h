/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html - a result, or two, as one page for a browser that needs nothing else: tools/web has its parts.
 *
 * Thread: any.
 */
#ifndef LAB_HTML_H
#define LAB_HTML_H

#include <stddef.h>

#include <jansson.h>

/**
 * Its data are {"results": [...], "why": [what why_result.h prints of each, or null], "comparison"}.
 * @param results    `count` of them, one or two
 * @param comparison of two: compare_results(); else NULL
 * @return 0, or -errno with a message on stderr, as report_write_json()
 */
int html_write(json_t *const *results, size_t count, json_t *comparison, const char *path);

#endif
