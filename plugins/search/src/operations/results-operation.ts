import type { SearchService } from '@svc/contracts'
import { SEARCH_CORPORA, SEARCH_MODES } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { envelopeOf } from '../result/envelope.ts'
import type { Settings } from '../settings.ts'

const { SRH_QUERY_INVALID } = searchErrors.specs
const MAX_SHOWN_CHARS = 300

/** Search of the console's page, whose fields are empty at first. */
export const resultsOperation = defineOperation({
  id: 'search.results',
  summary: 'Search from the console, with the factors of each score',
  input: t.object({
    query: t.string({ default: '', maxLength: 4_000, description: 'Question or words. Empty: no results.' }),
    corpus: t.optional(t.enum(SEARCH_CORPORA, { description: 'Where to search. Default: chosen by the query.' })),
    mode: t.optional(t.enum(SEARCH_MODES, { description: 'Words, vectors or both. Default: chosen by the query.' }))
  }),
  output: t.object({
    rows: t.array(
      t.object({
        id: t.string(),
        corpus: t.enum(SEARCH_CORPORA),
        score: t.number(),
        text_score: t.nullable(t.number()),
        vector_score: t.nullable(t.number()),
        title: t.string(),
        text: t.string(),
        explanation: t.string()
      })
    ),
    intent: t.optional(t.string()),
    because: t.optional(t.string()),
    note: t.optional(t.string()),
    quality: t.optional(t.number()),
    verification: t.optional(t.string())
  }),
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  concurrency: 4,
  timeoutMs: 120_000,
  expose: { rpc: true }
})

interface Parts {
  readonly service: SearchService
  readonly settings: () => Settings
}

export function resultsHandler({ service, settings }: Parts): Handler<typeof resultsOperation> {
  return async ({ query, corpus, mode }, { signal, traceId }) => {
    if (query.trim() === '') return { rows: [] }
    const corpora = corpus === undefined ? undefined : [corpus]
    const result = await service.query({ query, traceId, ...defined({ corpora, mode }) }, signal)
    const { evidence, plan } = result
    return {
      rows: result.hits.map(({ corpus, key, title, text, score, textScore, vectorScore, tiers, factors }) => ({
        id: `${corpus} ${key}`,
        corpus,
        score,
        text_score: textScore,
        vector_score: vectorScore,
        title,
        text: text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text,
        explanation: `${tiers.join(' + ')}: ${factors.join('; ')}`
      })),
      intent: plan.intent,
      because: plan.because,
      note: envelopeOf(result, settings().policy_version).note,
      quality: evidence.evidenceQuality,
      ...defined({
        verification:
          evidence.verificationReason === null
            ? undefined
            : `${evidence.verificationReason}: ${evidence.verificationQuery}`
      })
    }
  }
}
