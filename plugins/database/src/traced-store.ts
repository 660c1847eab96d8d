import {
  type DatabaseTransaction,
  type ObservabilitySpans,
  type Span,
  type SpanParent,
  type SqlResult,
  type SqlStatement,
  summariseStatement
} from '@svc/contracts'

/** Returns the service that records spans, if there is one. */
export type Spans = () => ObservabilitySpans | undefined

const PLUGIN = 'database'

/** Runs a statement as a step of the recorded call that runs now, or of `parent`. Its values are not recorded. */
export async function tracedStatement(
  spans: Spans,
  sql: string,
  run: () => Promise<SqlResult>,
  parent?: SpanParent
): Promise<SqlResult> {
  const step = startStatement(spans, sql, parent)
  if (step === null) return run()
  return ended(step, run, ({ rows, changes }) => ({
    'db.response.returned_rows': rows.length > 0 ? rows.length : changes
  }))
}

/** Runs several statements as one step. */
export async function tracedBatch<A>(
  spans: Spans,
  statements: readonly SqlStatement[],
  run: () => Promise<A>
): Promise<A> {
  const recorder = spans()
  if (recorder?.current() === undefined) return run()
  const texts = statements.map(each => summariseStatement(typeof each === 'string' ? each : each.sql))
  const [first] = texts
  const name = texts.length === 1 && first !== undefined ? first.name : `batch of ${texts.length} statements`
  const text = texts
    .slice(0, MAX_BATCH_TEXTS)
    .map(each => each.text)
    .join('; ')
  const attributes = { ...SYSTEM, 'db.query.text': text, 'db.operation.batch.size': texts.length }
  const step = recorder.step(PLUGIN, name, attributes)
  return step === null ? run() : ended(step, run)
}

/** Runs a transaction as a step, with its statements below it. */
export async function tracedTransaction<A>(
  spans: Spans,
  run: (wrap: (tx: DatabaseTransaction) => DatabaseTransaction) => Promise<A>
): Promise<A> {
  const step = spans()?.current() === undefined ? null : (spans()?.step(PLUGIN, 'transaction', SYSTEM) ?? null)
  if (step === null) return run(tx => tx)
  return ended(step, () =>
    run(tx => ({
      query: (sql, parameters) => tracedStatement(spans, sql, () => tx.query(sql, parameters), step),
      execute: (sql, parameters) => tracedStatement(spans, sql, () => tx.execute(sql, parameters), step)
    }))
  )
}

const SYSTEM = { 'db.system.name': 'sqlite' } as const
/** Statements of a batch whose text is recorded. */
const MAX_BATCH_TEXTS = 10

function startStatement(spans: Spans, sql: string, parent?: SpanParent): Span | null {
  const recorder = spans()
  if (recorder === undefined || (parent ?? recorder.current()) === undefined) return null
  const { name, text } = summariseStatement(sql)
  return recorder.step(PLUGIN, name, { ...SYSTEM, 'db.query.summary': name, 'db.query.text': text }, parent)
}

async function ended<A>(
  step: Span,
  run: () => Promise<A>,
  describe: (result: A) => Readonly<Record<string, number>> = () => ({})
): Promise<A> {
  try {
    const result = await run()
    step.set(describe(result))
    step.end()
    return result
  } catch (error) {
    step.end(error)
    throw error
  }
}
