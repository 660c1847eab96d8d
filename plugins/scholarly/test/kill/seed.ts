import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import { Records } from '@svc/plugin-publication/testing'
import type { Test } from 'tap'
import { idempotencyKey, JobStore, SubmissionStore, Tables } from '#root'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { content } from '../kit.ts'
import { ZenodoServer } from '../zenodo-server.ts'
import { INDEX_LAG_MS, type Kill, LOCK_TTL_MS, type Scenario } from './scenario.ts'

const TOKEN = 'kill-test-token'
/** Steps of a submission without failures, and some more. */
const MAX_STEP = 22
/** Steps between the intent to create a deposition and its stored id: the request, and the checkpoint after it. */
const CREATION = [6, 7] as const
const MAX_KILLS = 4

export interface SeedReport {
  readonly seed: number
  /** Processes that were killed, and processes that were stopped while another one took over. */
  readonly kills: number
  readonly stops: number
  readonly deposits: number
  readonly published: number
  readonly submissions: number
  readonly jobStatus: string
  readonly jobMessage: string | null
  readonly publicationState: string
}

/** Databases with one approved publication and its queued job. */
export class Templates {
  readonly #folder: string
  #base: Promise<string> | null = null

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async open(): Promise<Templates> {
    return new Templates(await mkdtemp(join(tmpdir(), 'svc-kill-')))
  }

  close(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true })
  }

  async database(seed: number): Promise<{ readonly file: string; readonly digest: string }> {
    this.#base ??= this.#baseline()
    const file = join(this.#folder, `${seed}.db`)
    await copyFile(await this.#base, file)
    const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
    const log = { warn() {} } as never
    const records = new Records({ store, settings: () => ({ armed: true, dry_run: false }), log, changed() {} })
    const { publication_id, content_sha3_256 } = await records.prepare(content({ title: `Paper of seed ${seed}` }))
    for (const name of ['ann', 'ben']) await records.approve(publication_id, content_sha3_256, { name, role: 'human' })
    await new JobStore(new Tables(store)).enqueue({
      publication_id,
      content_sha3_256,
      adapter: 'zenodo',
      operation: 'submit',
      idempotency_key: idempotencyKey('zenodo', publication_id, content_sha3_256, 'submit')
    })
    await store.close()
    return { file, digest: content_sha3_256 }
  }

  async #baseline(): Promise<string> {
    const file = join(this.#folder, 'base.db')
    const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
    await applyBaseline(store)
    await store.close()
    return file
  }
}

/** Submits one publication with processes that are killed and stopped, until its job has ended. */
export async function runSeed(templates: Templates, seed: number): Promise<SeedReport> {
  const random = generator(seed)
  const { file, digest } = await templates.database(seed)
  let closeServer = async (): Promise<void> => {}
  const owner = { teardown: (close: () => Promise<void>) => void (closeServer = close) } as unknown as Test
  const server = await ZenodoServer.open(owner, { token: TOKEN, indexLagMs: INDEX_LAG_MS })
  const start = (kill: Kill | null): ChildProcess => {
    const scenario: Scenario = { database: file, apiBase: server.base, token: TOKEN, kill }
    return fork(join(import.meta.dirname, 'child.ts'), [], {
      execArgv: [...CHILD_ARGUMENTS],
      env: { ...process.env, SVC_TEST_SCENARIO: JSON.stringify(scenario) }
    })
  }
  let kills = 0
  let stops = 0
  try {
    const planned = 1 + random(MAX_KILLS)
    for (let at = 0; at < planned; at++) {
      const when = (['before', 'during', 'after'] as const)[random(3)] ?? 'before'
      const child = start({
        step: random(2) === 0 ? (CREATION[random(2)] ?? 6) : 1 + random(MAX_STEP),
        when,
        ms: random(4)
      })
      const isStopped = random(4) === 0
      const ended = once(child, 'exit')
      if (isStopped) {
        await Promise.race([delay(200 + random(400)), ended])
        if (child.exitCode === null && child.signalCode === null && child.kill('SIGSTOP')) {
          stops += 1
          const other = start(null)
          await Promise.race([delay(LOCK_TTL_MS * 2 + random(600)), once(other, 'exit')])
          child.kill('SIGCONT')
          if (other.exitCode === null && other.signalCode === null) await once(other, 'exit')
        }
      }
      await ended
      if (child.signalCode === 'SIGKILL') kills += 1
      // The job has ended.
      else if (child.exitCode === 0) break
      else throw new Error(`seed ${seed}: the process ended with ${child.exitCode ?? child.signalCode}`)
    }
    const last = start(null)
    const [code] = await once(last, 'exit')
    if (code !== 0) throw new Error(`seed ${seed}: the last process ended with ${code}`)
    return { seed, kills, stops, ...(await outcome(file, server, digest)) }
  } finally {
    await closeServer()
    await Promise.all(['', '-wal', '-shm'].map(end => rm(`${file}${end}`, { force: true })))
  }
}

async function outcome(file: string, server: ZenodoServer, digest: string) {
  const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  try {
    const tables = new Tables(store)
    const [job] = await new JobStore(tables).list({ limit: 1 })
    const submissions = await new SubmissionStore(tables).list({ limit: 10 })
    const { rows } = await store.query('SELECT state FROM publication_manifests')
    const deposits = server.withDigest(digest)
    return {
      deposits: deposits.length,
      published: deposits.filter(({ state }) => state === 'done').length,
      submissions: submissions.length,
      jobStatus: String(job?.status),
      jobMessage: job?.last_error_message ?? null,
      publicationState: String(rows[0]?.[0])
    }
  } finally {
    await store.close()
  }
}

/** Returns a function that returns whole numbers below its argument; the same ones for the same seed (mulberry32). */
function generator(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return below => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
