/** True for a smoke run: small models, few requests, and no peers from the network. */
export const isSmoke = process.env.SVC_BENCH_SMOKE === '1'

/**
 * Interval of samples of autocannon in milliseconds. A run of autocannon ends with a sample; figures per sample are figures
 * per second only in a measurement.
 */
export const SAMPLE_INTERVAL_MS = isSmoke ? 25 : 1_000
