import { inferenceErrors } from '../errors.ts'

/** Returns the index of the first NaN or infinity; -1 if there is none. */
export function findNonFinite(values: Float32Array): number {
  // value * 0 is 0 for finite values and NaN otherwise, so the sum needs no branch per value.
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += (values[i] as number) * 0
  return sum === 0 ? -1 : values.findIndex(value => !Number.isFinite(value))
}

/** Throws `INF_NOT_FINITE` for NaN or infinite logits, except minus infinity, which marks forbidden tokens. */
export function checkLogits(logits: Float32Array): void {
  if (findNonFinite(logits) === -1) return
  const wrong = logits.findIndex(value => Number.isNaN(value) || value === Number.POSITIVE_INFINITY)
  if (wrong === -1 && logits.some(Number.isFinite)) return
  const token = Math.max(wrong, 0)
  throw inferenceErrors.create(
    'INF_NOT_FINITE',
    `the model computed ${logits[token]} as the logit of token ${token}: no token can be chosen`,
    { data: { token }, hint: 'Check the weights and the adapter, or load the model with another precision.' }
  )
}
