// Property tests use the same cases in every run, so that results are comparable. SVC_TEST_SEED=random, or a number,
// selects other cases.
import fc from 'fast-check'

const { SVC_TEST_SEED = '20261121' } = process.env
if (SVC_TEST_SEED !== 'random') fc.configureGlobal({ seed: Number(SVC_TEST_SEED) })
