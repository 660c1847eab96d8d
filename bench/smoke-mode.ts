/** True for a smoke run: with small models, few requests, and without peers from the network. */
export const isSmoke = process.env.SVC_BENCH_SMOKE === '1'
