import type { SamplingOptions } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'
import { invalid } from '../body-reader.ts'

const MAX_STOP_STRINGS = 4
const stopString = t.string({ minLength: 1 })

/** Fields for sampling and stop strings, shared by both completion routes. */
export const samplingFields = {
  temperature: t.optional(t.number({ minimum: 0, maximum: 2 })),
  top_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  presence_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
  frequency_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
  seed: t.optional(t.integer()),
  stop: t.optional(
    t.union([stopString, t.array(stopString, { maxItems: MAX_STOP_STRINGS })], {
      description: `a string or a list of up to ${MAX_STOP_STRINGS} strings, none of them empty`
    })
  ),
  logit_bias: t.optional(t.record(t.number({ minimum: -100, maximum: 100 }))),
  // Common extensions of other servers.
  top_k: t.optional(t.integer({ minimum: -1 })),
  min_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  typical_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  repetition_penalty: t.optional(t.number({ exclusiveMinimum: 0 }))
}

const samplingBody = t.object(samplingFields)

export type SamplingFields = Infer<typeof samplingBody>

/** Returns sampling options. `choice`: index of the answer, added to the seed so that answers differ. */
export function samplingOf(body: SamplingFields, choice = 0): SamplingOptions {
  const { temperature, top_p, top_k, min_p, typical_p, presence_penalty, frequency_penalty, seed } = body
  return {
    ...defined({ temperature, topP: top_p }),
    ...(top_k === undefined ? {} : { topK: Math.max(0, top_k) }),
    ...defined({
      minP: min_p,
      typicalP: typical_p,
      presencePenalty: presence_penalty,
      frequencyPenalty: frequency_penalty
    }),
    ...(body.repetition_penalty === undefined ? {} : { repeatPenalty: body.repetition_penalty }),
    ...(seed === undefined ? {} : { seed: seed + choice }),
    ...(body.logit_bias === undefined ? {} : { logitBias: logitBiasOf(body.logit_bias) })
  }
}

function logitBiasOf(bias: Readonly<Record<string, number>>): ReadonlyMap<number, number> {
  const pairs = Object.entries(bias).map(([token, value]): [number, number] => {
    if (!/^\d{1,9}$/.test(token)) throw invalid(`'logit_bias' has the key '${token}', not a token id`, 'logit_bias')
    return [Number(token), value]
  })
  return new Map(pairs)
}
