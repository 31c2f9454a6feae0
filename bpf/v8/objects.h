/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What both sides know of V8's objects in memory: pointers, maps, strings and scripts, the same in all versions from
 * 10.2 to 14.6 (objects/map.h, string.h, instance-type.h, script.h).
 */
#ifndef POLYTOP_V8_OBJECTS_H
#define POLYTOP_V8_OBJECTS_H

/* The lowest bits of a word tell a pointer from a number. */
#define V8_IS_POINTER(word) (((word) & 3) == 1)

/* Where a map has the type of its objects. */
#define V8_MAP_TYPE 12

#define V8_STRING_FIRST_OTHER 128 /* types from here on are no strings */
#define V8_STRING_FORM 7
#define V8_STRING_FLAT 0
#define V8_STRING_CONS 1
#define V8_STRING_EXTERNAL 2
#define V8_STRING_SLICED 3
#define V8_STRING_THIN 5
#define V8_STRING_ONE_BYTE 8
#define V8_STRING_UNCACHED 16
#define V8_STRING_CHARACTERS 16
/* Words of a string, and of its length: the upper half of the word of its hash. */
#define V8_STRING_WORDS 4
#define V8_STRING_LENGTH 1
#define V8_STRING_FIRST 2
#define V8_STRING_SECOND 3

/* Words of a Script. */
#define V8_SCRIPT_SOURCE 1
#define V8_SCRIPT_NAME 2
#define V8_SCRIPT_LINE_OFFSET 3
#define V8_SCRIPT_ID 8

#endif
