// The numbers of exponential.cc and trigonometry.cc, for the instructions of AVX-512 as well
// (widen/arithmetic/approximations.cc). Coefficients from the highest power down: least-maximum fits over the reduced
// interval, rounded to floats.
#pragma once

namespace tutti::guest_runtime::approximations {

// A number below 2^22, added to it, is rounded to an integer, which is in the last bits of the sum.
inline constexpr float kRound = 0x1.8p23f;

// 2^f, f in [-1/2, 1/2]: relative error 2^-26.6; 1 at 0.
inline constexpr float kPowerOfTwo[] = {0.00015353340131696314f,
                                        0.0013398900628089905f,
                                        0.009618437848985195f,
                                        0.055503323674201965f,
                                        0.24022647738456726f,
                                        0.6931471824645996f,
                                        1.0f};
// (2^f - 1) / f, f in [-1/2, 1/2]: relative error 2^-16.
inline constexpr float kPowerLessOne[] = {0.009618110954761505f, 0.05583728849887848f, 0.24023252725601196f,
                                          0.6931368708610535f};
inline constexpr float kTwoLog2E = 2.885390082f;

// log2(1 + t) / t, t in [-1/4, 1/2]: relative error 2^-22.4.
inline constexpr float kLogarithm[] = {-0.09588237851858139f, 0.203879714012146f,   -0.25062817335128784f,
                                       0.29009759426116943f,  -0.3603389263153076f, 0.4808468520641327f,
                                       -0.7213506102561951f,  1.4426952600479126f};

// (sin(r) - r) / r^3 by r^2, r in [-pi/2, pi/2]: absolute error of sin 2^-27.5.
inline constexpr float kSine[] = {2.5988672405219404e-06f, -0.00019806032651104033f, 0.008333008736371994f,
                                  -0.16666656732559204f};
// kPi + kPiRest is pi, to 2^-48. Both are positive, or -0 less nothing would be +0.
inline constexpr float kPi = 0x1.921fb4p1f, kPiRest = 0x1.4442d2p-23f, kOneOverPi = 0.318309886f;

}  // namespace tutti::guest_runtime::approximations
