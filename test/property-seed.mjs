// Fixes the seed of property tests, so that runs are comparable. SVC_TEST_SEED=random, or a number, selects other
// cases.
import fc from 'fast-check'

const { SVC_TEST_SEED = '20261121' } = process.env
if (SVC_TEST_SEED !== 'random') fc.configureGlobal({ seed: Number(SVC_TEST_SEED) })
