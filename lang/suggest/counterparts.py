"""Functions that other languages have, and what is written for them here: another name, an expression, or statements."""
from __future__ import annotations

from typing import NamedTuple

from adcli.lang.ir.names import listed, words
from adcli.lang.ir.primitives import TABLE

OF_C = [name for name, row in TABLE.items() if row.libm == name]
"""Functions that are named as in C, which appends f for another precision; Fortran puts d in front."""
SYNONYMS = {
    **{f"{name[0]}h": name for name in OF_C if name[0] != "a" and name.endswith("h")},
    **{f"{name}f": name for name in (*OF_C, "sqrt", "floor", "ceil", "log", "log2", "log10")},
    **{f"d{name}": name for name in (*(name for name in OF_C if "exp" not in name), "log", "log10", "sqrt", "abs")},
    **listed("""
    ln loge log_e alog: log
    lg log_10 alog10: log10
    ld lb log_2: log2
    power float_power powr: pow
    sqr abs2 sq: square
    reciprocal inv: recip
    inv_sqrt invsqrt inversesqrt: rsqrt
    arcsin: asin
    arccos: acos
    arctan arctg atn: atan
    arctan2: atan2
    arcsinh arsinh: asinh
    arccosh arcosh: acosh
    arctanh artanh: atanh
    tg: tan
    int fix aint dint integerpart: trunc
    nint anint lround: round
    cuberoot: cbrt
    fabs absolute fabsf: abs
    sgn signum: sign
    maximum pmax amax1 dmax1: max
    minimum pmin amin1 dmin1: min
    clip: clamp
    rem amod dmod: fmod
    ceiling: ceil
    tgamma: gamma
    gammaln log_gamma lngamma logabsgamma: lgamma
    psi: digamma
    expit logistic inv_logit plogis logisticsigmoid: sigmoid
    ramp: relu
    log1pexp log1p_exp: softplus
    lmultiply multiply_log: xlogy
    negative uminus: negate
    subtract: sub
    multiply: mul
    divide true_divide: div
    less: lt
    less_equal: le
    greater: gt
    greater_equal: ge
    equal: eq
    not_equal: ne
    logical_and: and
    logical_or: or
    logical_not: not
    mod modulo floormod: mod
    heaviside heavisidetheta: heaviside
    silu swish: silu
    gelu: gelu
    logsigmoid log_sigmoid log_expit log_inv_logit: logsigmoid
    qlogis: logit
    log1m_exp: log1mexp
    logsubexp: log_diff_exp
    normcdf pnorm ndtr normsdist norm_cdf std_normal_cdf norm_s_dist phi: normal_cdf
    log_ndtr norm_logcdf normlogcdf std_normal_lcdf: normal_logcdf
    normpdf dnorm norm_pdf: normal_pdf
    erfc_scaled: erfcx
    norminv qnorm ndtri probit norm_ppf normsinv norminvcdf inv_phi: normal_quantile
    inverseerf: erfinv
    inverseerfc: erfcinv
    stop_gradient stopgradient stop_grad detach: stop
""")}
"""Functions that have another name here, and are the same for all real arguments; those with capitals elsewhere among them."""
OF_TENSORS = listed("""
    inv: inverse
    t: transpose
    determinant: det
    linsolve: solve
    tr: trace
    eigvalsh eigvals: eigenvalues
    svdvals svd_vals: singular_values
    matrix_exp matrixexp: expm
    average avg: mean
    max maxval maximum: amax
    min minval minimum: amin
    log_sum_exp lse: logsumexp
    inner vdot dot_product: dot
    dot: matmul
    diagonal diagm: diag
    conv: convolve
    product: prod
    total: sum
    trapz: trapezoid
""")
"""The same where an argument is a tensor."""


class Definition(NamedTuple):
    """What a call with these parameters is written as; more than one choice, or a remark, where it is not certain what was meant.
    A parameter is a name, `c` a truth value, or what the argument has to be: a number or a word, `#b` any number."""

    params: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]


def defined(text: str) -> dict[tuple[str, int], list[Definition]]:
    """The definitions of lines such as `cot ctg(x) = 1 / tan(x)`, by name and number of arguments. Behind `|` stands where a
    choice is right, behind `;` the next choice."""
    found: dict[tuple[str, int], list[Definition]] = {}
    for line in text.strip().splitlines():
        head, _, body = line.strip().partition(" = ")
        names, params = head[:-1].split("(")
        each = Definition(tuple(params.split(", ")), tuple((b.strip(), r.strip()) for b, _, r in
                                                          (choice.partition(" | ") for choice in body.split(" ; "))))
        for name in names.split():
            found.setdefault((name, len(each.params)), []).append(each)
    return found


EXPRESSIONS_OF_TENSORS = defined("""
    slogdet(A) = logdet(A) | for a positive determinant
    eig(A) = eigenvalues(A) | of a symmetric matrix ; eigenvectors(A) | of one
    chol(A) = cholesky(A) | lower triangular ; transpose(cholesky(A)) | upper
    solve_triangular trsv(A, b) = solve_lower(A, b) | lower triangular ; solve_upper(A, b) | upper
    norm(x, 1) = sum(abs(x))
    norm(x, 2) = norm(x)
    norm(x, inf) = amax(abs(x))
    asum(x) = sum(abs(x))
""")
"""Functions of matrices, or of elements, that are expressions here."""
OF_TABLES = defined("""
    interp1 approx(a, b, x) = interp(x, a, b) | constant outside
    interp1d interpolant(a, b) = interp(x, a, b) | at x, constant outside
    interpolant(f, m, a, b) = interp(x, a, b) | at x, constant outside
    interp2(a, b, d, x, y) = interp(y, x, b, a, d) | constant outside
    CubicSpline UnivariateSpline splinefun(a, b) = natural_spline(x, a, b) | at x, its second derivatives 0 at the ends
    spline(a, b, x) = natural_spline(x, a, b) | with second derivatives 0 at the ends
    PchipInterpolator Akima1DInterpolator(a, b) = pchip(x, a, b) | at x, monotone
    pchip_interpolate(a, b, x) = pchip(x, a, b)
    searchsorted bisect(a, x) = search(a, x) | the number of elements that are at most x
    bisect_right searchsortedlast searchsorted_right(a, x) = search(a, x)
    findInterval(x, a) = search(a, x)
""")
"""Functions of tables: knots a, values b or d, places x and y."""
EXPRESSIONS = defined("""
    where ifelse if iif cond(c, x, y) = c ? x : y
    merge(x, y, c) = c ? x : y
    boole indicator(c) = c ? 1 : 0
    log(#x, #b) = log(x) / log(b)
    log(#b, x) = log(x) / log(b)
    log logb logn(x, b) = log(x) / log(b)
    LOG(x) = log(x) | natural ; log10(x) | in Excel
    norm(x, y) = hypot(x, y)
    atan arctan(y, x) = atan2(y, x)
    ATAN2(y, x) = atan2(y, x) | y first ; atan2(x, y) | in Excel, x first
    Sqr SQR(x) = sqrt(x) | in Basic ; square(x) | in Pascal
    Int INT(x) = floor(x) | in Basic and Excel ; trunc(x) | in Fortran and Pascal
    cot ctg cotan(x) = 1 / tan(x)
    sec(x) = 1 / cos(x)
    csc cosec(x) = 1 / sin(x)
    coth(x) = 1 / tanh(x)
    sech(x) = 1 / cosh(x)
    csch(x) = 1 / sinh(x)
    acot arccot(x) = atan(1 / x)
    asec arcsec(x) = acos(1 / x)
    acsc arccsc(x) = asin(1 / x)
    acoth arccoth arcoth(x) = atanh(1 / x)
    asech arcsech arsech(x) = acosh(1 / x)
    acsch arccsch arcsch(x) = asinh(1 / x)
    sind sindg(x) = sin(x * pi / 180)
    cosd cosdg(x) = cos(x * pi / 180)
    tand tandg(x) = tan(x * pi / 180)
    cotd cotdg(x) = 1 / tan(x * pi / 180)
    asind(x) = asin(x) * 180 / pi
    acosd(x) = acos(x) * 180 / pi
    atand(x) = atan(x) * 180 / pi
    atan2d atand(y, x) = atan2(y, x) * 180 / pi
    sinpi(x) = sin(pi * x)
    cospi(x) = cos(pi * x)
    tanpi(x) = tan(pi * x)
    Sinc(x) = sinc(x / pi)
    radians deg2rad(x) = x * pi / 180
    degrees rad2deg(x) = x * 180 / pi
    haversine hav(x) = sin(x / 2)**2
    versin(x) = 2 * sin(x / 2)**2
    exp10 pow10(x) = 10**x
    dexp(x) = exp(x) | in Fortran ; exp(-x) | in R, for positive arguments
    cube(x) = x**3
    inv_square(x) = 1 / x**2
    root(x, n) = x**(1 / n)
    nthroot real_root surd(x, 2) = sqrt(x)
    nthroot real_root surd(x, 3) = cbrt(x)
    nthroot real_root surd(x, 4) = x**(1 / 4)
    nthroot real_root surd(x, 5) = copysign(abs(x)**(1 / 5), x)
    nthroot real_root surd(x, n) = copysign(abs(x)**(1 / n), x) | if the order is odd ; x**(1 / n) | if it is even
    sqrtpi(x) = sqrt(pi * x)
    float double real print positive dble float64 tensor item(x) = x
    plus(x, y) = x + y
    AVERAGE(x, y) = (x + y) / 2
    minus(x, y) = x - y
    prod times mtimes(x, y) = x * y
    rdivide mrdivide truediv rational fraction(x, y) = x / y
    muladd mad(a, b, c_) = a * b + c_
    QUOTIENT(x, y) = trunc(x / y)
    floordiv floor_divide fld quotient(x, y) = floor(x / y)
    cld(x, y) = ceil(x / y)
    idivide(x, y) = trunc(x / y)
    MOD(x, y) = mod(x, y) | in Excel ; fmod(x, y) | in Fortran and SQL
    remainder(x, y) = mod(x, y) | in NumPy ; x - y * round(x / y) | in C, but at halves
    ieeeremainder drem(x, y) = x - y * round(x / y) | but at halves
    mod2pi(x) = mod(x, 2 * pi)
    rint nearbyint roundeven(x) = abs(x - trunc(x)) == 0.5 ? 2 * round(x / 2) : round(x)
    round(x, n) = round(x * 10**n) / 10**n | halves away from 0
    frac(x) = x - trunc(x) | with the sign of x ; x - floor(x) | from 0 to 1
    fract(x) = x - floor(x) | from 0 to 1 ; x - trunc(x) | with the sign of x
    fractionalpart(x) = x - trunc(x)
    sign isign dsign(x, y) = copysign(x, y)
    heaviside(x, h) = x == 0 ? h : 0.5 * (sign(x) + 1)
    unitstep step(x) = x >= 0 ? 1 : 0
    step(a, x) = x < a ? 0 : 1
    clip(x, a, None) = max(x, a)
    clip(x, None, b) = min(x, b)
    saturate(x) = clamp(x, 0, 1)
    lerp mix(a, b, t) = a + t * (b - a)
    smoothstep(a, b, x) = clamp((x - a) / (b - a), 0, 1)**2 * (3 - 2 * clamp((x - a) / (b - a), 0, 1))
    isnan(x) = x != x
    isinf(x) = abs(x) == inf
    isfinite(x) = abs(x) < inf
    ldexp(x, n) = x * 2**n
    factorial fact(n) = gamma(n + 1)
    lfactorial(n) = lgamma(n + 1)
    loggamma(x) = lgamma(x) | for positive arguments
    rgamma(x) = 1 / gamma(x) | away from 0, -1, -2, ...
    trigamma(x) = polygamma(1, x)
    polygamma psi(x) = digamma(x)
    psi(#n, x) = polygamma(n, x)
    betaln logbeta log_beta(a, b) = lbeta(a, b) | for positive arguments
    binom binomial comb nchoosek(n, k) = choose(n, k) | for k from 0 to n
    logabsbinomial binomial_coefficient_log(n, k) = lchoose(n, k) | for k from 0 to n
    gammainc igamma gammap(a, x) = gamma_p(a, x) | as in SciPy, with the shape first
    gammaincc igammac gammaq(a, x) = gamma_q(a, x) | as in SciPy, with the shape first
    pgamma(x, a, b) = gamma_p(a, b * x)
    pchisq chi2cdf(x, n) = gamma_p(n / 2, x / 2)
    ppois poisscdf(n, m) = gamma_q(floor(n) + 1, m)
    kv besselk modified_bessel_second_kind(nu, x) = bessel_k(nu, x)
    kve besselkx(nu, x) = bessel_ke(nu, x)
    k0 modified_bessel_k0(x) = bessel_k(0, x)
    k1 modified_bessel_k1(x) = bessel_k(1, x)
    k0e scaled_modified_bessel_k0(x) = bessel_ke(0, x)
    k1e scaled_modified_bessel_k1(x) = bessel_ke(1, x)
    voigt_profile(x, s, g) = voigt(x, s, g)
    iv besseli modified_bessel_first_kind(nu, x) = bessel_i(nu, x)
    ive besselix(nu, x) = bessel_ie(nu, x)
    i0 modified_bessel_i0(x) = bessel_i(0, abs(x))
    i1 modified_bessel_i1(x) = x < 0 ? -bessel_i(1, -x) : bessel_i(1, x)
    jv jn besselj(nu, x) = bessel_j(nu, x)
    yv yn bessely(nu, x) = bessel_y(nu, x)
    j0 bessel_j0(x) = bessel_j(0, abs(x))
    j1 bessel_j1(x) = x < 0 ? -bessel_j(1, -x) : bessel_j(1, x)
    y0 bessel_y0(x) = bessel_y(0, x)
    y1 bessel_y1(x) = bessel_y(1, x)
    i0e(x) = bessel_ie(0, abs(x))
    i1e(x) = x < 0 ? -bessel_ie(1, -x) : bessel_ie(1, x)
    betainc ibeta(a, b, x) = inc_beta(a, b, x) | as in SciPy, with the shapes first
    betaincc ibetac(a, b, x) = inc_betac(a, b, x) | as in SciPy, with the shapes first
    btdtr(a, b, x) = inc_beta(a, b, x)
    betainc_regularized(a, b, 0, x) = inc_beta(a, b, x)
    pbeta betacdf(x, a, b) = inc_beta(a, b, x)
    stdtr(n, t) = student_t_cdf(t, n, 0, 1)
    pt tcdf(t, n) = student_t_cdf(t, n, 0, 1)
    fdtr(m, n, x) = f_cdf(x, m, n)
    pf fcdf(x, m, n) = f_cdf(x, m, n)
    bdtr pbinom binocdf(k, n, p) = binomial_cdf(k, n, p)
    nbdtr(k, n, p) = inc_beta(n, floor(k) + 1, p)
    pnbinom nbincdf(k, n, p) = inc_beta(n, floor(k) + 1, p)
    riemann_zeta(s) = zeta(s)
    zeta hurwitzzeta zeta_hurwitz(s, a) = hurwitz_zeta(s, a)
    zetac(s) = zeta(s) - 1
    owenst owen_t(h, a) = owens_t(h, a)
    exp1 e1(x) = expint_e1(x)
    expi ei expinti expintegralei(x) = expint_ei(x)
    expint(x) = expint_e1(x) | in MATLAB and Julia ; expint_ei(x) | in C++
    lambertw productlog lambert_w(x) = lambert_w0(x) | the branch that is 0 at 0 ; lambert_wm1(x) | the other real one
    lambertw(x, k) = lambert_w0(x) | for k = 0 ; lambert_wm1(x) | for k = -1
    poch rising_factorial(x, n) = gamma(x + n) / gamma(x)
    norm_cdf(x, m) = normal_cdf(x - m)
    normcdf pnorm norm_cdf normal_cdf(x, m, s) = normal_cdf((x - m) / s)
    norm_sf(x) = normal_cdf(-x)
    norm_sf(x, m, s) = normal_cdf((m - x) / s)
    norm_pdf(x, m) = normal_pdf(x - m)
    normpdf dnorm norm_pdf normal_pdf(x, m, s) = normal_pdf((x - m) / s) / s
    norm_ppf norminv qnorm(p, m, s) = m + s * normal_quantile(p)
    norm_logpdf normlogpdf std_normal_lpdf(x) = normal_lpdf(x, 0, 1)
    norm_logpdf normlogpdf(x, m, s) = normal_lpdf(x, m, s)
    Phi_approx(x) = sigmoid(0.07056 * x**3 + 1.5976 * x)
    cloglog(p) = log(-log1p(-p))
    inv_cloglog(x) = -expm1(-exp(x))
    log1m(x) = log1p(-x)
    logexpm1 softplus_inverse softplusinv(x) = x + log1mexp(-x)
    logsumexp log_sum_exp lse(x, y) = logaddexp(x, y)
    logaddexp2(x, y) = logaddexp(x * log(2), y * log(2)) / log(2)
    log1m_inv_logit(x) = -softplus(x)
    xlog1py(x, y) = x == 0 ? 0 : x * log1p(y)
    xlogx(x) = xlogy(x, x)
    entr(x) = x < 0 ? -inf : -xlogy(x, x)
    rel_entr(x, y) = xlogy(x, x / y)
    kl_div(x, y) = xlogy(x, x / y) - x + y
    boxcox(x, k) = k == 0 ? log(x) : expm1(k * log(x)) / k
    huber(d, r) = abs(r) <= d ? 0.5 * r**2 : d * (abs(r) - 0.5 * d)
    pseudo_huber(d, r) = d**2 * (sqrt(1 + (r / d)**2) - 1)
    gelu_tanh gelu_new(x) = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    elu(x) = x > 0 ? x : expm1(x)
    elu(x, a) = x > 0 ? x : a * expm1(x)
    celu(x, a) = x > 0 ? x : a * expm1(x / a)
    selu(x) = 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * expm1(x))
    leaky_relu leakyrelu(x) = x > 0 ? x : 0.01 * x | 0.2 in TensorFlow
    leaky_relu leakyrelu prelu(x, a) = x > 0 ? x : a * x
    relu6(x) = clamp(x, 0, 6)
    swish(x, b) = x * sigmoid(b * x)
    mish(x) = x * tanh(softplus(x))
    hardsigmoid hard_sigmoid(x) = clamp(x / 6 + 0.5, 0, 1)
    hardswish hard_swish hard_silu(x) = x * clamp(x / 6 + 0.5, 0, 1)
    hardtanh hard_tanh(x) = clamp(x, -1, 1)
    hardtanh(x, a, b) = clamp(x, a, b)
    softplus(x, b) = softplus(b * x) / b
    softsign soft_sign(x) = x / (1 + abs(x))
    tanhshrink tanh_shrink(x) = x - tanh(x)
    softshrink soft_shrink(x, a) = x - clamp(x, -a, a)
    hardshrink hard_shrink(x, a) = abs(x) > a ? x : 0
    threshold(x, a, b) = x > a ? x : b
""")
"""Functions that are expressions here. A name with capitals stands for itself, one without for every case."""
DERIVATIVES = words("diff grad derivative differentiate D deriv gradient jacobian hessian Derivative")
"""Functions that differentiate."""
EXAMPLES = listed("""
    zeros: z(i) = 0 where i in 0:N
    ones: z(i) = 1 where i in 0:N
    arange: z(i) = i where i in 0:N
    eye identity: I(i, i) = 1 where i in 0:N
    linspace: z(i) = a + (b - a) * i / (K - 1) where i in 0:K
    reshape: z(i, j) = x(i*M + j) where i in 0:N, j in 0:M
    max maximum: v max=! x(i)
    min minimum: v min=! x(i)
    sd stdev std_sample var_sample: m +=! x(i) / N; v +=! (x(i) - m)**2 / (N - 1); s = sqrt(v)
    correlate: v(i) +=! x(i + j) * y(j)
    einsum: y(i) +=! A(i, j) * x(j)
""")
"""Functions that make or reduce tensors, and the statements that do so."""
NONE_HERE = words("""
    any all map cross integral integrate quad quadgk odeint solve_ivp ode45 median cov quantile percentile unwrap nan_to_num
    divmod random rand randn dirac erfi dawsn expn li gammainc gammaincc jve yve airy ellipk ellipe
    ellipkinc ellipeinc sici spence polylog struve hyp1f1 hyp2f1 fresnel wofz
""")
"""Functions that have no counterpart and are no mistyped name of another."""
