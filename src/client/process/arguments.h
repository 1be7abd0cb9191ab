// Turns a parenthesised list of types, as it stands in the API table, into a parameter list and an argument list:
//
//   TUTTI_PARAMETERS (int*, size_t)   ->  int* a1, size_t a2
//   TUTTI_ARGUMENTS (int*, size_t)    ->  a1, a2
#pragma once

#define TUTTI_COUNT(...) TUTTI_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TUTTI_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, n, ...) n
#define TUTTI_JOIN(a, b) TUTTI_JOIN_(a, b)
#define TUTTI_JOIN_(a, b) a##b

#define TUTTI_PARAMETERS(...) TUTTI_JOIN(TUTTI_P, TUTTI_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define TUTTI_P0()
#define TUTTI_P1(t) t a1
#define TUTTI_P2(t, u) TUTTI_P1(t), u a2
#define TUTTI_P3(t, u, v) TUTTI_P2(t, u), v a3
#define TUTTI_P4(t, u, v, w) TUTTI_P3(t, u, v), w a4
#define TUTTI_P5(t, u, v, w, x) TUTTI_P4(t, u, v, w), x a5
#define TUTTI_P6(t, u, v, w, x, y) TUTTI_P5(t, u, v, w, x), y a6
#define TUTTI_P7(t, u, v, w, x, y, z) TUTTI_P6(t, u, v, w, x, y), z a7
#define TUTTI_P8(t, u, v, w, x, y, z, k) TUTTI_P7(t, u, v, w, x, y, z), k a8
#define TUTTI_P9(t, u, v, w, x, y, z, k, l) TUTTI_P8(t, u, v, w, x, y, z, k), l a9
#define TUTTI_P10(t, u, v, w, x, y, z, k, l, m) TUTTI_P9(t, u, v, w, x, y, z, k, l), m a10
#define TUTTI_P11(t, u, v, w, x, y, z, k, l, m, n) TUTTI_P10(t, u, v, w, x, y, z, k, l, m), n a11
#define TUTTI_P12(t, u, v, w, x, y, z, k, l, m, n, o) TUTTI_P11(t, u, v, w, x, y, z, k, l, m, n), o a12
#define TUTTI_P13(t, u, v, w, x, y, z, k, l, m, n, o, p) TUTTI_P12(t, u, v, w, x, y, z, k, l, m, n, o), p a13
#define TUTTI_P14(t, u, v, w, x, y, z, k, l, m, n, o, p, q) TUTTI_P13(t, u, v, w, x, y, z, k, l, m, n, o, p), q a14
#define TUTTI_P15(t, u, v, w, x, y, z, k, l, m, n, o, p, q, r) \
  TUTTI_P14(t, u, v, w, x, y, z, k, l, m, n, o, p, q), r a15

#define TUTTI_ARGUMENTS(...) TUTTI_JOIN(TUTTI_A, TUTTI_COUNT(__VA_ARGS__))
#define TUTTI_A0
#define TUTTI_A1 a1
#define TUTTI_A2 TUTTI_A1, a2
#define TUTTI_A3 TUTTI_A2, a3
#define TUTTI_A4 TUTTI_A3, a4
#define TUTTI_A5 TUTTI_A4, a5
#define TUTTI_A6 TUTTI_A5, a6
#define TUTTI_A7 TUTTI_A6, a7
#define TUTTI_A8 TUTTI_A7, a8
#define TUTTI_A9 TUTTI_A8, a9
#define TUTTI_A10 TUTTI_A9, a10
#define TUTTI_A11 TUTTI_A10, a11
#define TUTTI_A12 TUTTI_A11, a12
#define TUTTI_A13 TUTTI_A12, a13
#define TUTTI_A14 TUTTI_A13, a14
#define TUTTI_A15 TUTTI_A14, a15
