import { isRemoteFailure, RemoteFailure, type SubmissionContext } from '@svc/contracts'

export interface CreateOnceOptions<Entry> {
  /** Name of the archive in messages, such as `Zenodo`. */
  readonly archive: string
  readonly context: Pick<SubmissionContext, 'checkpoint' | 'saveCheckpoint'>
  /** Milliseconds after which a created entry is certainly in the lists of the archive. */
  readonly settleMs: number
  /**
   * Returns the entries with the marker of this digest. `createdAfter`: Unix milliseconds of an earlier attempt to create
   * one, which may have succeeded; null if there was none, so that a cheaper search is enough.
   */
  find(createdAfter: number | null): Promise<readonly Entry[]>
  create(): Promise<Entry>
  idOf(entry: Entry): string
  /**
   * Returns the time of the archive in Unix milliseconds, after {@link find}. The clock of this machine may be set between
   * two attempts.
   */
  now(): number
}

/** Checkpoint of a submission: the intent to create an entry, then the entry. */
interface Checkpoint {
  /** Unix milliseconds. */
  readonly creating_at_ms?: number
  readonly entry_id?: string
}

/**
 * Returns the id of the archive's only entry for a digest; creates it if there is none.
 *
 * The archives cannot create idempotently. The intent is saved before the request, so that a later attempt knows that
 * an entry may exist. It then looks for the marker, and creates another entry only if the lists do not contain one after
 * the settle time. Entries of a lost database are found by the same marker.
 */
export async function createOnce<Entry>(options: CreateOnceOptions<Entry>): Promise<string> {
  const { archive, context, settleMs, find, create, idOf, now } = options
  const saved = (context.checkpoint ?? {}) as Checkpoint
  if (typeof saved.entry_id === 'string') return saved.entry_id
  const intentAt = typeof saved.creating_at_ms === 'number' ? saved.creating_at_ms : null
  const startedAt = performance.now()
  const found = await find(intentAt)
  // At this time the lists were read at the earliest.
  const readAt = now() - (performance.now() - startedAt)
  if (found.length > 1)
    throw new RemoteFailure(
      `${archive}: ${found.length} entries have the digest of this publication (${found.map(idOf).join(', ')}); delete all but one, then replay the job`,
      { failureClass: 'fatal', code: 'several_entries' }
    )
  const save = async (entry: Entry): Promise<string> => {
    await context.saveCheckpoint({ entry_id: idOf(entry) } satisfies Checkpoint)
    return idOf(entry)
  }
  const [existing] = found
  if (existing !== undefined) return await save(existing)
  if (intentAt !== null) {
    // After a step back of the clock the settle time begins again.
    if (readAt < intentAt) await context.saveCheckpoint({ creating_at_ms: readAt } satisfies Checkpoint)
    const waitMs = Math.ceil(settleMs - Math.max(0, readAt - intentAt))
    if (waitMs > 0)
      throw new RemoteFailure(
        `${archive}: an earlier attempt may have created an entry that is not listed yet; it is looked for again in ${Math.ceil(waitMs / 1_000)} s`,
        { failureClass: 'transient', code: 'entry_unsettled', retryAfterMs: waitMs, outcomeUnknown: true }
      )
  }
  await context.saveCheckpoint({ creating_at_ms: now() } satisfies Checkpoint)
  let created: Entry
  try {
    created = await create()
  } catch (error) {
    // The archive certainly created nothing: the next attempt need not wait.
    if (isRemoteFailure(error) && !error.outcomeUnknown) await context.saveCheckpoint({} satisfies Checkpoint)
    throw error
  }
  return await save(created)
}
