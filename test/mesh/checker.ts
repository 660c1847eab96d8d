import type { History, RecordedCall } from './history.ts'

/** Items that are left in the store after all clients have ended, by id. */
export type LeftItems = ReadonlyMap<number, 'ready' | 'leased' | 'delayed' | 'parked' | 'dead'>

export interface CheckOptions {
  /**
   * True: the store may lose the last writes before a failover, as PostgreSQL without a synchronous standby does. Then
   * only what fences promise is checked.
   */
  readonly losesWrites?: boolean
}

/** A claim of an item or a grant of a lease, with the calls that its holder made with it. */
interface Grant {
  readonly subject: string
  readonly call: RecordedCall
  readonly fence: number
  readonly writes: RecordedCall[]
}

const WRITES: ReadonlySet<string> = new Set(['ack', 'extend', 'nack', 'park', 'renew', 'release'])
const ENDS: ReadonlySet<string> = new Set(['ack', 'nack', 'park', 'release'])

/**
 * Returns what is wrong with a history, as sentences; empty for a history that a correct store allows. A call with an
 * unknown outcome is taken as the one or the other, whichever excuses the store.
 *
 * Checked: a lease has one holder at a time in the store's time; fences grow with each grant; an accepted write has the
 * greatest fence that was granted before it; a lease is not extended after its end; an item is acknowledged at most once,
 * and is found until then; a key has one item; a value is used at most once; a wake is not lost; no call fails with an
 * error that no fault explains.
 */
export function check(history: History, left: LeftItems, { losesWrites = false }: CheckOptions = {}): string[] {
  const grants = grantsOf(history)
  const always = [
    ...[...grants.values()].flatMap(each => [...fencesThatDoNotGrow(each), ...staleWrites(each)]),
    ...unexpectedErrors(history)
  ]
  if (losesWrites) return always
  return [
    ...always,
    ...[...grants.values()].flatMap(each => [...overlaps(each), ...each.flatMap(lateExtensions)]),
    ...repeatedAcks(history),
    ...lostItems(history, left),
    ...keysWithSeveralItems(history),
    ...valuesUsedTwice(history),
    ...lostWakes(history, grants, left)
  ]
}

function subjectOf({ id, key }: RecordedCall): string {
  return id === null ? `lease ${key}` : `item ${id}`
}

function isGrant({ op, outcome, fence }: RecordedCall): boolean {
  return (op === 'claim' || op === 'grant') && outcome === 'ok' && fence !== null
}

/** Returns the grants of each item and lease, by fence. A lease that its holder was granted again is one grant. */
function grantsOf(history: History): ReadonlyMap<string, readonly Grant[]> {
  const found = new Map<string, Grant[]>()
  for (const call of history) {
    if (!isGrant(call)) continue
    const subject = subjectOf(call)
    const fence = call.fence as number
    const all = found.get(subject) ?? []
    found.set(subject, all)
    const again = all.find(each => each.fence === fence && each.call.client === call.client)
    if (again !== undefined && call.op === 'grant') again.writes.push(call)
    else all.push({ subject, call, fence, writes: [] })
  }
  for (const call of history) {
    if (!WRITES.has(call.op)) continue
    const grant = found
      .get(subjectOf(call))
      ?.find(each => each.fence === call.fence && each.call.client === call.client)
    grant?.writes.push(call)
  }
  for (const all of found.values()) all.sort((one, other) => one.fence - other.fence)
  return found
}

/** The time at which a lease ends at the earliest, in the store's time; -Infinity if its holder may have ended it. */
function earliestEnd({ call, writes }: Grant): number {
  if (writes.some(({ op, outcome }) => ENDS.has(op) && outcome !== 'no')) return -Infinity
  const ends = [call, ...writes.filter(({ outcome }) => outcome === 'ok')].map(
    ({ storeMs, leaseMs }) => (storeMs as number) + (leaseMs as number)
  )
  return Math.max(...ends)
}

function* pairs<A>(all: readonly A[]): Iterable<readonly [A, A]> {
  for (let at = 1; at < all.length; at++) yield [all[at - 1] as A, all[at] as A]
}

function overlaps(grants: readonly Grant[]): string[] {
  return [...pairs(grants)].flatMap(([one, next]) => {
    if (next.call.own === true && next.call.client === one.call.client) return []
    const end = earliestEnd(one)
    if ((next.call.storeMs as number) >= end) return []
    const early = Math.ceil(end - (next.call.storeMs as number))
    return [`${one.subject}: ${next.call.client} got it ${early} ms before the lease of ${one.call.client} ended`]
  })
}

function fencesThatDoNotGrow(grants: readonly Grant[]): string[] {
  const byTime = [...grants].sort((one, other) => (one.call.storeMs as number) - (other.call.storeMs as number))
  const equal = [...pairs(grants)].flatMap(([one, next]) =>
    one.fence === next.fence
      ? [`${one.subject}: ${one.call.client} and ${next.call.client} got the same fence ${one.fence}`]
      : []
  )
  const falling = [...pairs(byTime)].flatMap(([one, next]) =>
    next.fence < one.fence && (next.call.storeMs as number) > (one.call.storeMs as number)
      ? [`${one.subject}: after the fence ${one.fence}, ${next.call.client} got the lower fence ${next.fence}`]
      : []
  )
  return [...equal, ...falling]
}

function staleWrites(grants: readonly Grant[]): string[] {
  return grants.flatMap(grant =>
    grant.writes
      .filter(({ op, outcome }) => WRITES.has(op) && outcome === 'ok')
      .flatMap(write => {
        const later = grants.find(other => other.fence > grant.fence && other.call.return < write.invoke)
        const who = `${write.op} by ${write.client} with the fence ${grant.fence}`
        return later === undefined
          ? []
          : [`${grant.subject}: ${who} was accepted after ${later.call.client} had got the fence ${later.fence}`]
      })
  )
}

/** Only the first extension is checked: for the later ones, the end of the lease is known only from below. */
function lateExtensions({ subject, call, writes }: Grant): string[] {
  const first = writes.find(({ op, outcome }) => (op === 'extend' || op === 'renew') && outcome !== 'no')
  const late = (first?.storeMs ?? 0) - ((call.storeMs as number) + (call.leaseMs as number))
  // Answers of a control plane have whole milliseconds.
  const isWrong = first !== undefined && first.outcome === 'ok' && late >= 1 && !writes.some(({ op }) => op === 'grant')
  return isWrong ? [`${subject}: the lease of ${call.client} was extended ${Math.ceil(late)} ms after its end`] : []
}

function repeatedAcks(history: History): string[] {
  const counts = new Map<number, number>()
  for (const { op, id, outcome } of history)
    if (op === 'ack' && outcome === 'ok') counts.set(id as number, (counts.get(id as number) ?? 0) + 1)
  return [...counts].flatMap(([id, count]) =>
    count > 1 ? [`item ${id}: ${count} acknowledgements were accepted`] : []
  )
}

function lostItems(history: History, left: LeftItems): string[] {
  const ended = new Set(history.filter(({ op, outcome }) => op === 'ack' && outcome !== 'no').map(({ id }) => id))
  const put = new Map(
    history.filter(({ op, outcome }) => op === 'put' && outcome === 'ok').map(({ id, key }) => [id as number, key])
  )
  return [...put].flatMap(([id, key]) =>
    ended.has(id) || left.has(id) ? [] : [`item ${id}: the put of ${key} was accepted, and the item is gone`]
  )
}

function keysWithSeveralItems(history: History): string[] {
  const ids = new Map<string, Set<number>>()
  for (const { op, key, id, outcome } of history) {
    if (op !== 'put' || outcome !== 'ok') continue
    const known = ids.get(key as string) ?? new Set()
    ids.set(key as string, known.add(id as number))
  }
  return [...ids].flatMap(([key, all]) =>
    all.size > 1 ? [`key ${key}: it has the items ${[...all].join(', ')}, and each has an effect`] : []
  )
}

function valuesUsedTwice(history: History): string[] {
  const counts = new Map<string, number>()
  for (const { op, key, outcome } of history)
    if (op === 'once' && outcome === 'ok') counts.set(key as string, (counts.get(key as string) ?? 0) + 1)
  return [...counts].flatMap(([key, count]) => (count > 1 ? [`value ${key}: it was used ${count} times`] : []))
}

/** An item that is parked at the end was woken neither after its last park nor during the claim before that. */
function lostWakes(history: History, grants: ReadonlyMap<string, readonly Grant[]>, left: LeftItems): string[] {
  const keys = new Map(history.flatMap(({ op, id, key }) => (op === 'put' && id !== null ? [[id, key]] : [])))
  return [...left].flatMap(([id, state]) => {
    if (state !== 'parked') return []
    const claimed = grants.get(`item ${id}`)?.at(-1)
    if (claimed === undefined) return []
    const wakes = history.filter(({ op, key, outcome }) => op === 'wake' && outcome === 'ok' && key === keys.get(id))
    return wakes.some(({ invoke }) => invoke > claimed.call.return)
      ? [`item ${id}: it is parked, although it was woken during or after its last claim`]
      : []
  })
}

function unexpectedErrors(history: History): string[] {
  return history.flatMap(({ client, op, error }) => (error === undefined ? [] : [`${op} by ${client}: ${error}`]))
}
