import type { Coordination } from '@svc/contracts'
import pg from 'pg'
import type { Peers } from '../task-queues/peer-packages.ts'
import type { Server } from '../task-queues/servers.ts'
import type { TaskQueue } from '../task-queues/task-queue.ts'
import { nextTask, Progress, throughput } from '../task-queues/throughput.ts'
import { type Contestant, cyclesPerSecond } from './rotation.ts'
import type { OpenedStore } from './stores.ts'

const LEASE_MS = 30_000
/** Workers and items a call, as of pg-boss in these benchmarks. */
const WORKERS = 4
const BATCH = 500

/** Body of every item, of a usual length. */
export const BODY = JSON.stringify(nextTask())

export function urlOf(postgres: Server): string {
  return `postgres://bench@127.0.0.1:${postgres.port}/postgres`
}

/** Number for keys that no earlier run of this process used. */
let keys = 0

/** Adds an item, leases one, and acknowledges it. With `keyed`, the item has an idempotency key. */
export function contractCycle(store: Coordination, queue: string, holder: string, keyed = false): () => Promise<void> {
  return async () => {
    await store.put([{ queue, body: BODY, ...(keyed && { key: `${process.pid}-${keys++}` }) }])
    for (;;) {
      // Another caller may lock the only ready item at this moment.
      const [item] = await store.claim(queue, holder, { max: 1, leaseMs: LEASE_MS })
      if (item === undefined) continue
      const [isAcked] = await store.ack([{ id: item.id, fence: item.fence }])
      if (isAcked !== true) throw new Error(`${queue}: the item ${item.id} was not acknowledged`)
      return
    }
  }
}

export interface ContractOptions {
  readonly name: string
  readonly about: string
  /** One store for all callers, which then joins their calls; or one for each caller. */
  readonly stores: readonly OpenedStore[]
  readonly callers: number
  readonly keyed?: boolean
}

/** Callers of the coordination contract, each with one item at a time. */
export function contractQueue({ name, about, stores, callers, keyed = false }: ContractOptions): Contestant {
  const cycles = Array.from({ length: callers }, (_, index) => {
    const { store } = stores[index % stores.length] as OpenedStore
    return contractCycle(store, `bench ${name}`, `caller ${index}`, keyed)
  })
  return {
    name,
    about,
    measure: milliseconds => cyclesPerSecond(cycles, milliseconds),
    async close() {
      for (const { close } of stores) await close()
    }
  }
}

/**
 * The contract with separate workers, like the peers: all tasks of a turn of the event loop are put in one call, and a
 * worker claims and acknowledges up to {@link BATCH} items a call.
 */
export async function contractInBulk(
  options: Pick<ContractOptions, 'name' | 'about'> & { readonly opened: OpenedStore; readonly concurrency: number }
): Promise<Contestant> {
  const { name, about, opened, concurrency } = options
  const { store } = opened
  const queue = `bench ${name}`
  const open = async (progress: Progress): Promise<TaskQueue> => {
    const end = new AbortController()
    let wake = (): void => {}
    const work = async (worker: number): Promise<void> => {
      while (!end.signal.aborted) {
        const woken = new Promise<void>(resolve => {
          const others = wake
          wake = () => {
            others()
            resolve()
          }
        })
        const items = await store.claim(queue, `worker ${worker}`, { max: BATCH, leaseMs: LEASE_MS })
        if (items.length === 0) {
          await woken
          continue
        }
        const ids = items.map(({ body }) => (JSON.parse(body) as { readonly id: number }).id)
        for (const id of ids) progress.started(id)
        const acks = await store.ack(items.map(({ id, fence }) => ({ id, fence })))
        if (acks.includes(false)) throw new Error(`${queue}: an item was not acknowledged`)
        for (const id of ids) progress.completed(id)
      }
    }
    const rouse = (): void => {
      const sleepers = wake
      wake = () => {}
      sleepers()
    }
    const working = Promise.all(Array.from({ length: WORKERS }, (_, index) => work(index)))
    working.catch(error => process.stderr.write(`${String(error)}\n`))
    return {
      name,
      about: `${about}, ${WORKERS} workers of up to ${BATCH}`,
      async submit(tasks) {
        await store.put(tasks.map(task => ({ queue, body: JSON.stringify(task) })))
        rouse()
      },
      async close() {
        end.abort()
        rouse()
        await working
        await opened.close()
      }
    }
  }
  return taskQueue(open, concurrency)
}

/** Statements that a careful user of PostgreSQL would write for a queue, on as many connections as callers. */
export async function bareQueue(postgres: Server, connections: number, callers = connections): Promise<Contestant> {
  const table = `bare_${connections}_${callers}`
  const pool = new pg.Pool({ connectionString: urlOf(postgres), max: connections })
  await pool.query(`create table ${table} (id bigint generated always as identity primary key, holder text, body text)`)
  await pool.query(`create index on ${table} (id) where holder is null`)
  const put = { name: `put ${table}`, text: `insert into ${table} (body) values ($1) returning id` }
  const claim = {
    name: `claim ${table}`,
    text: `update ${table} set holder = $1 where id = (select id from ${table} where holder is null order by id
      for update skip locked limit 1) returning id, body`
  }
  const ack = { name: `ack ${table}`, text: `delete from ${table} where id = $1 and holder = $2` }
  const cycleOf = (holder: string) => async (): Promise<void> => {
    await pool.query({ ...put, values: [BODY] })
    for (;;) {
      const { rows } = await pool.query({ ...claim, values: [holder] })
      if (rows[0] === undefined) continue
      const { rowCount } = await pool.query({ ...ack, values: [rows[0].id, holder] })
      if (rowCount !== 1) throw new Error(`${table}: the item ${rows[0].id} was not acknowledged`)
      return
    }
  }
  const cycles = Array.from({ length: callers }, (_, index) => cycleOf(`caller ${index}`))
  const of = callers === connections ? '' : `, ${callers} callers`
  return {
    name: `bare pg, ${connections} connections`,
    about: `insert, update with FOR UPDATE SKIP LOCKED, and delete, one by one; pg, PostgreSQL ${postgres.version}, fsync on${of}`,
    measure: milliseconds => cyclesPerSecond(cycles, milliseconds),
    close: () => pool.end()
  }
}

/** pg-boss with one job a call. */
export async function pgBossOneByOne(peers: Peers, postgres: Server, callers: number): Promise<Contestant> {
  const PgBoss = peers.load('pg-boss')
  const boss = new PgBoss({ connectionString: urlOf(postgres), max: callers })
  boss.on('error', (error: Error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  await boss.start()
  const queue = 'one-by-one'
  await boss.createQueue(queue)
  const data = JSON.parse(BODY)
  const cycle = async (): Promise<void> => {
    await boss.send(queue, data)
    for (;;) {
      const [job] = await boss.fetch(queue)
      if (job === undefined) continue
      await boss.complete(queue, job.id)
      return
    }
  }
  return {
    name: 'pg-boss, one by one',
    about: `pg-boss ${peers.version('pg-boss')}, PostgreSQL ${postgres.version}, fsync on, ${callers} callers and connections`,
    measure: milliseconds =>
      cyclesPerSecond(
        Array.from({ length: callers }, () => cycle),
        milliseconds
      ),
    close: () => boss.stop({ graceful: false, wait: true })
  }
}

/** A queue with separate workers, which gets all tasks of a turn of the event loop in one call. */
export async function taskQueue(
  open: (progress: Progress) => Promise<TaskQueue>,
  concurrency: number
): Promise<Contestant> {
  const progress = new Progress()
  const queue = await open(progress)
  return {
    name: queue.name,
    about: queue.about,
    measure: milliseconds => throughput(queue, progress, { concurrency, milliseconds }),
    close: () => queue.close()
  }
}
