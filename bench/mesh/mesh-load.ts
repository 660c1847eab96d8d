import { setTimeout as sleep } from 'node:timers/promises'
import { nodeReport, RECEIVER, type WireAnswer, WireClient } from './wire-client.ts'

/** Wait before the next attempt after an error, in milliseconds. */
const RETRY_MS = 10

/** A successful grant of a lease. */
export interface Grant {
  readonly client: number
  /** Milliseconds of `performance.now()`. */
  readonly at: number
}

export interface LoadOutcome {
  readonly grants: readonly Grant[]
  /** Messages whose delivery was acknowledged. */
  readonly delivered: number
  /** Messages of these that were neither found nor acknowledged at the end. */
  readonly lost: number
  /** Messages that were acknowledged more than once. */
  readonly doubled: number
}

/**
 * Clients of several control planes, each of which grants leases, and delivers, claims and acknowledges messages, until
 * it is stopped. A client goes on with the next control plane after an error of its connection or a status from 500.
 */
export class MeshLoad {
  readonly #urls: readonly string[]
  readonly #prefix: string
  readonly #grants: Grant[] = []
  /** Id of each message whose delivery was acknowledged. */
  readonly #delivered = new Set<number>()
  /** Outcomes of the acknowledgements of each message. */
  readonly #acks = new Map<number, AckOutcome[]>()
  readonly #clients: Promise<void>[]
  #isOver = false
  #error: unknown = null

  /** `name` distinguishes the keys of loads on one store. */
  constructor(urls: readonly string[], name: string, clients: number) {
    this.#urls = urls
    this.#prefix = name
    this.#clients = Array.from({ length: clients }, (_, index) => this.#work(index))
    for (const client of this.#clients)
      client.catch(error => {
        this.#error ??= error
      })
  }

  get grants(): readonly Grant[] {
    return this.#grants
  }

  /** Resolves when each client has had a lease since now. Throws the error of a client. */
  async settled(clients: number): Promise<void> {
    const from = performance.now()
    const seen = (): number => new Set(this.#grants.filter(({ at }) => at > from).map(({ client }) => client)).size
    while (seen() < clients) {
      if (this.#error !== null) throw this.#error
      await sleep(20)
    }
  }

  /** Ends the load, waits until the leases of messages have ended, and takes what is left. */
  async stop(leaseMs: number): Promise<LoadOutcome> {
    this.#isOver = true
    await Promise.all(this.#clients)
    await sleep(leaseMs + 200)
    const sender = new Failover(this.#urls, 0)
    await sender.join('drain')
    for (;;) {
      const found = await sender.claim('drain')
      if (found === 'unknown') continue
      if (found === null) break
      this.#record(found.id, await sender.ack(found))
    }
    sender.close()
    const outcomes = [...this.#delivered].map(id => ({ id, acks: this.#acks.get(id) ?? [] }))
    const lost = outcomes.filter(({ acks }) => !acks.some(outcome => outcome !== 'refused'))
    const doubled = outcomes.filter(({ acks }) => acks.filter(outcome => outcome === 'ok').length > 1)
    for (const { id, acks } of [...lost, ...doubled])
      process.stderr.write(`message ${id}: acknowledgements: ${acks.join(', ') || 'none'}\n`)
    return {
      grants: this.#grants,
      delivered: outcomes.length,
      lost: lost.length,
      doubled: doubled.length
    }
  }

  #record(id: number, outcome: AckOutcome): void {
    this.#acks.set(id, [...(this.#acks.get(id) ?? []), outcome])
  }

  async #work(client: number): Promise<void> {
    const sender = new Failover(this.#urls, client)
    const node = `load-${client}`
    await sender.join(node)
    for (let turn = 0; !this.#isOver; turn += 1) {
      const key = `${this.#prefix}-${client}-${turn}`
      if (await sender.grant(node, key)) this.#grants.push({ client, at: performance.now() })
      // Repeated with its key until the answer arrives.
      const id = await sender.deliver(key, () => this.#isOver)
      if (id !== null) this.#delivered.add(id)
      const found = await sender.claim(node)
      if (found !== null && found !== 'unknown') this.#record(found.id, await sender.ack(found))
    }
    sender.close()
  }
}

/** `refused`: the message is gone, or has another holder. `unknown`: there was no answer. */
type AckOutcome = 'ok' | 'refused' | 'unknown'

interface Message {
  readonly id: number
  readonly fence: number
}

/** Sends requests to one of several control planes, and changes to the next one after an error. */
class Failover {
  readonly #clients: readonly WireClient[]
  #current: number

  constructor(urls: readonly string[], first: number) {
    this.#clients = urls.map(url => new WireClient(url))
    this.#current = first % urls.length
  }

  async join(node: string): Promise<void> {
    for (;;) {
      const answer = await this.#post('/join', nodeReport(node))
      if (answer?.status === 200) return
      if (answer !== null) throw new Error(`/join answered ${answer.status} to ${node}`)
    }
  }

  async grant(node: string, key: string): Promise<boolean> {
    const answer = await this.#post('/exec/lease/grant', { claimer_node_id: node, scope_key: key })
    return answer?.status === 200
  }

  /** Returns the id of the message; null if the load ended before an answer. */
  async deliver(key: string, isOver: () => boolean): Promise<number | null> {
    const body = {
      sender_agent_id: '1',
      receiver_agent_id: RECEIVER,
      message_type: 'job_submit',
      payload: JSON.stringify({ key }),
      idempotency_key: key
    }
    while (!isOver()) {
      const answer = await this.#post('/a2a/deliver', body)
      if (answer?.status === 200) return answer.json.message_id as number
    }
    return null
  }

  /** Returns null if there is no message, and `unknown` without an answer: then a message may be leased. */
  async claim(node: string): Promise<Message | null | 'unknown'> {
    const body = { receiver_agent_id: RECEIVER, claimer_node_id: node, own: false }
    const answer = await this.#post('/a2a/inbox', body)
    if (answer === null) return 'unknown'
    if (answer.status !== 200) throw new Error(`/a2a/inbox answered ${answer.status} to ${node}`)
    return (answer.json.messages[0] as Message | undefined) ?? null
  }

  async ack({ id, fence }: Message): Promise<AckOutcome> {
    const answer = await this.#post('/a2a/ack', { receiver_agent_id: RECEIVER, message_id: id, fence })
    return answer === null ? 'unknown' : answer.status === 204 ? 'ok' : 'refused'
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }

  /** Returns null if the outcome is unknown. */
  async #post(path: string, body: object): Promise<WireAnswer | null> {
    const client = this.#clients[this.#current] as WireClient
    try {
      const answer = await client.post(path, body)
      if (answer.status < 500) return answer
    } catch {
      // The control plane ended.
    }
    this.#current = (this.#current + 1) % this.#clients.length
    await sleep(RETRY_MS)
    return null
  }
}
