import { RemoteFailure } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { createOnce } from '#root'

const SETTLE_MS = 1_000

/** One attempt: how far the clock moved before it, and where it ends. */
interface AttemptPlan {
  readonly afterMs: number
  readonly end:
    | 'never'
    | 'before intent'
    | 'after intent'
    | 'request lost'
    | 'answer lost'
    | 'before id'
    | 'after id'
    | 'refused'
}

const attempt: fc.Arbitrary<AttemptPlan> = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: -500, max: 0 })),
  end: fc.constantFrom(
    'never',
    'before intent',
    'after intent',
    'request lost',
    'answer lost',
    'before id',
    'after id',
    'refused'
  )
})

t.test('whatever ends the attempts, at most one entry is created, and a last attempt finds it', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { maxLength: 12 }),
      fc.integer({ min: 0, max: SETTLE_MS }),
      async (plans, lagMs) => {
        const entries: { readonly id: string; readonly at: number }[] = []
        let checkpoint: Readonly<Record<string, unknown>> | null = null
        // The lists follow time; the clock that is read may be set back.
        let clock = 10_000
        let time = 10_000
        const run = (end: AttemptPlan['end']): Promise<string> =>
          createOnce<string>({
            archive: 'Archive',
            context: {
              checkpoint,
              async saveCheckpoint(next) {
                const isId = 'entry_id' in next
                if (!isId && end === 'before intent') throw new Error('ended')
                if (isId && end === 'before id') throw new Error('ended')
                checkpoint = next
                if (!isId && end === 'after intent') throw new Error('ended')
                if (isId && end === 'after id') throw new Error('ended')
              }
            },
            settleMs: SETTLE_MS,
            idOf: id => id,
            find: async () => entries.filter(({ at }) => time - at >= lagMs).map(({ id }) => id),
            async create() {
              if (end === 'refused') throw failure(false)
              if (end === 'request lost') throw failure(true)
              entries.push({ id: `e${entries.length}`, at: time })
              if (end === 'answer lost') throw failure(true)
              return `e${entries.length - 1}`
            },
            now: () => clock
          })
        for (const { afterMs, end } of plans) {
          clock += afterMs
          time += Math.max(0, afterMs)
          await run(end).catch(() => null)
          if (entries.length > 1) return false
        }
        let found: string | null = null
        for (let index = 0; index < 8 && found === null; index++) {
          found = await run('never').catch(() => null)
          clock += SETTLE_MS
          time += SETTLE_MS
        }
        return found === 'e0' && entries.length === 1
      }
    ),
    { numRuns: 2_000 }
  )
  t.pass('2,000 sequences')
})

t.test('several entries with one digest are left to a person', async t => {
  const submitting = createOnce<string>({
    archive: 'Archive',
    context: { checkpoint: null, saveCheckpoint: () => Promise.reject(new Error('unused')) },
    settleMs: 0,
    idOf: id => id,
    find: async () => ['a', 'b'],
    now: Date.now,
    create: () => Promise.reject(new Error('unused'))
  })
  await t.rejects(submitting, { message: /a, b/, code: 'several_entries' })
})

function failure(outcomeUnknown: boolean): RemoteFailure {
  return new RemoteFailure('Archive: failed', { failureClass: 'transient', code: 'network', outcomeUnknown })
}
