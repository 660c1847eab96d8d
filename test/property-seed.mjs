// Property tests try the same cases in every run, so that a change is judged by what it changed. Others are tried with
// SVC_TEST_SEED=random, or with a number to go on from.
import fc from 'fast-check'

const { SVC_TEST_SEED = '20261121' } = process.env
if (SVC_TEST_SEED !== 'random') fc.configureGlobal({ seed: Number(SVC_TEST_SEED) })
