/** True for a smoke run: small models, few requests, and no peers from the network. */
export const isSmoke = process.env.SVC_BENCH_SMOKE === '1'
