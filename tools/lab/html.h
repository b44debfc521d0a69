/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * html - a result, or two, as one page for a browser that needs nothing else: tools/web has its parts.
 *
 * Thread: any.
 */
#ifndef LAB_HTML_H
#define LAB_HTML_H

#include <jansson.h>

/**
 * @param data {"results": [one or two], "comparison" (of two): compare_results()}
 * @return 0, or -errno with a message on stderr, as report_write_json()
 */
int html_write(const json_t *data, const char *path);

#endif
