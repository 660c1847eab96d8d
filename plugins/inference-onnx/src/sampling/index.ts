// Exports of this folder for tests. Sources import the files directly.
export { CandidateSession, type Candidates } from './candidates.ts'
export { argmax, largest, logprobs } from './logits.ts'
export { seededRandom } from './random.ts'
export { Sampler } from './sampler.ts'
export { drawSelected, selectTokens } from './selection.ts'
export { sumOfWeights } from './token-weights.ts'
