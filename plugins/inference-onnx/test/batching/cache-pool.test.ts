import fc from 'fast-check'
import t from 'tap'
import { CachePool } from '#batching'
import { elementCount, type Runtime, type Tensor } from '#ort'
import type { ServedConfig } from '#root'

const config = { layerKinds: ['full', 'full'], linear: null, keyValueHeads: 2, headSize: 1 } as unknown as ServedConfig

class State implements Tensor {
  readonly shape: readonly number[]
  readonly values: Float32Array
  released = false

  constructor(shape: readonly number[]) {
    this.shape = shape
    this.values = new Float32Array(elementCount(shape))
  }

  release(): void {
    this.released = true
  }
}

/** Runtime that stores states in plain arrays, with a limited number of elements. */
class Memory {
  readonly states: State[] = []
  room = Number.POSITIVE_INFINITY
  /** True if only memory that is written counts, which the test does not simulate. */
  reserves = false
  copyError: Error | null = null
  discards: string[] | null = null

  get runtime(): Runtime {
    const runtime: Pick<Runtime, 'state' | 'copy' | 'view' | 'reservesStates' | 'discard'> = {
      ...(this.discards !== null && {
        discard: ({ state, row, start, end }) => {
          this.discards?.push(`${this.states.indexOf(state as State)}: ${row} ${start}-${end}`)
          const { shape, values } = state as State
          const [, heads = 0, capacity = 0] = shape
          for (let head = 0; head < heads; head++) {
            const first = (row * heads + head) * capacity
            values.fill(Number.NaN, first + start, first + end)
          }
        }
      }),
      reservesStates: this.reserves,
      state: async shape => {
        const living = this.states.filter(({ released }) => !released)
        const used = living.reduce((sum, { values }) => sum + values.length, 0)
        if (used + elementCount(shape) > this.room) throw new RangeError('no room')
        const state = new State(shape)
        this.states.push(state)
        return state
      },
      copy: async (from, to) => {
        if (this.copyError !== null) throw this.copyError
        const [source, target] = [from.state as State, to.state as State]
        const [, heads = 0, capacity = 0] = source.shape
        for (let head = 0; head < heads; head++) {
          const start = (from.row * heads + head) * capacity
          const values = source.values.slice(start + from.start, start + from.end)
          target.values.set(values, (to.row * heads + head) * (target.shape[2] ?? 0) + from.start)
        }
      },
      view: tensor => tensor
    }
    return runtime as Runtime
  }

  get living(): State[] {
    return this.states.filter(({ released }) => !released)
  }

  /** Writes a number that identifies its position. */
  write(row: number, position: number, value: number): void {
    for (const { shape, values } of this.living) {
      const [, heads = 0, capacity = 0] = shape
      for (let head = 0; head < heads; head++) {
        values[(row * heads + head) * capacity + position] = value + 1000 * head
      }
    }
  }

  /** Returns the value of all states at a position; null if they differ. */
  read(row: number, position: number): number | null {
    const found = this.living.flatMap(({ shape, values }) => {
      const [, heads = 0, capacity = 0] = shape
      return Array.from(
        { length: heads },
        (_, head) => (values[(row * heads + head) * capacity + position] as number) - 1000 * head
      )
    })
    return found.every(value => value === found[0]) ? (found[0] ?? null) : null
  }
}

function open(
  slots: number,
  contextLength = 5000,
  reserves = false,
  copiesRows = false
): { pool: CachePool; memory: Memory } {
  const memory = new Memory()
  memory.reserves = reserves
  return { memory, pool: new CachePool({ runtime: memory.runtime, config, slots, contextLength, copiesRows }) }
}

t.test('memory is allocated on first use, and doubles up to the context', async t => {
  const { pool } = open(3)
  t.equal(pool.bytes, 0)
  const capacities = []
  for (const positions of [1, 512, 513, 2000, 4097, 5000]) {
    await pool.reserve(positions, [0, 0, 0])
    capacities.push(pool.capacity)
    t.equal(pool.bytes, 4 * pool.capacity * 2 * 2 * 2 * 4)
  }
  t.same(capacities, [512, 512, 1024, 2048, 5000, 5000])
})

t.test('reserved rows grow separately: growing one neither moves the others nor adds memory to them', async t => {
  const { pool, memory } = open(3, 5000, true)
  const position = 2 * 2 * 2 * 4
  await pool.reserve(1, [0, 0, 0])
  const states = memory.living
  t.equal(pool.capacity, 5000)
  t.equal(pool.bytes, 0)
  await pool.extend(0, 10)
  await pool.extend(1, 300)
  t.equal(pool.bytes, 310 * position)
  memory.copyError = new Error('nothing is copied')
  t.ok(pool.holds(4000))
  await pool.reserve(4000, [10, 300, 0])
  await pool.extend(1, 4000)
  await pool.extend(1, 20)
  t.equal(pool.bytes, 4010 * position, 'memory that was used stays')
  t.same(memory.living, states)
  memory.copyError = null
  await pool.copy(1, 2, 0, 50)
  t.equal(pool.bytes, 4060 * position)
  pool.release()
  t.equal(pool.bytes, 0)
})

t.test('the memory of a long sequence is given back when a much shorter one is in its row', async t => {
  const memory = new Memory()
  memory.reserves = true
  memory.discards = []
  const pool = new CachePool({ runtime: memory.runtime, config, slots: 2, contextLength: 5000 })
  const position = 2 * 2 * 2 * 4
  await pool.reserve(1, [0, 0])
  await pool.extend(0, 4000)
  await pool.extend(0, 1953)
  t.same(memory.discards, [], 'the row may grow again soon')
  t.equal(pool.bytes, 4000 * position)
  await pool.extend(0, 1952)
  t.same(
    memory.discards,
    [0, 1, 2, 3].map(state => `${state}: 0 1952-4000`)
  )
  t.equal(pool.bytes, 1952 * position)
  memory.discards = []
  await pool.extend(1, 3000)
  await pool.copy(0, 1, 0, 100)
  t.equal(memory.discards.length, 4)
  t.equal(pool.bytes, 2052 * position)
  await pool.extend(1, 4500)
  memory.write(0, 5, 7)
  memory.write(1, 4400, 8)
  await pool.swap([0, 1], [1952, 4500])
  t.equal(memory.read(1, 5), 7)
  t.equal(memory.read(0, 4400), 8)
})

t.test('rows that each run copies whole are no larger than they must be', async t => {
  const { pool } = open(1, 5000, true, true)
  await pool.reserve(1, [0])
  t.equal(pool.capacity, 512)
  t.equal(pool.bytes, 512 * 2 * 2 * 2 * 4)
  await pool.reserve(513, [512])
  t.equal(pool.capacity, 1024)
})

t.test('rows double together where the system refuses the memory of full contexts', async t => {
  const { pool, memory } = open(2, 5000, true)
  memory.room = 3 * 2 * 1024 * 4
  await pool.reserve(1, [0, 0])
  t.equal(pool.capacity, 512)
  memory.write(1, 499, 7)
  memory.room = Number.POSITIVE_INFINITY
  await pool.reserve(600, [0, 500])
  t.equal(pool.capacity, 1024)
  t.equal(memory.read(1, 499), 7)
  t.equal(memory.living.length, 4)
})

t.test('a single slot has no spare row', async t => {
  const { pool } = open(1, 100)
  await pool.reserve(1, [0])
  t.equal(pool.bytes, 100 * 2 * 2 * 2 * 4)
})

t.test('growing needs memory for only one additional state, and keeps the rows', async t => {
  const { pool, memory } = open(2)
  await pool.reserve(500, [0, 0])
  memory.write(1, 499, 7)
  memory.room = 3 * 2 * 1024 * 4 + 3 * 2 * 512
  await pool.reserve(600, [0, 500])
  t.equal(memory.read(1, 499), 7)
  t.equal(memory.living.length, 4)
})

t.test('a failed resize changes nothing', async t => {
  const { pool, memory } = open(2)
  await pool.reserve(500, [0, 0])
  memory.write(0, 3, 7)
  // Two of four states grow, then the memory is exhausted.
  memory.room = 3 * 2 * 512 * 4 + 3 * 2 * 512 * 2 + 3 * 2 * 512
  await t.rejects(pool.reserve(600, [4, 0]), { code: 'INF_OUT_OF_MEMORY', data: { capacity: 1024, slots: 2 } })
  t.equal(pool.capacity, 512)
  t.equal(memory.read(0, 3), 7)
  t.ok(memory.living.every(({ shape }) => shape[2] === 512))
  memory.room = Number.POSITIVE_INFINITY
  await pool.reserve(600, [4, 0])
  t.equal(memory.read(0, 3), 7)
})

t.test('a copy that fails while the cache grows frees the new state', async t => {
  const { pool, memory } = open(2)
  await pool.reserve(500, [0, 0])
  memory.write(0, 3, 7)
  memory.copyError = new Error('the device is lost')
  await t.rejects(pool.reserve(600, [4, 0]), { code: 'INF_OUT_OF_MEMORY', cause: memory.copyError })
  t.equal(memory.living.length, 4)
  t.equal(pool.capacity, 512)
  t.equal(memory.read(0, 3), 7)
})

t.test('a failed first allocation frees all states', async t => {
  const { pool, memory } = open(2)
  memory.room = 3 * 2 * 512 * 2
  await t.rejects(pool.reserve(1, [0, 0]), { code: 'INF_OUT_OF_MEMORY' })
  t.same(memory.living, [])
  t.equal(pool.capacity, 0)
})

for (const reserves of [false, true]) {
  const where = reserves ? 'in reserved memory' : 'when the cache grows'
  t.test(`rows keep written, copied and swapped contents ${where}`, async () => {
    const action = fc.record({
      act: fc.constantFrom('write', 'write', 'copy', 'swap', 'grow'),
      a: fc.nat(3),
      b: fc.nat(3),
      amount: fc.nat(700)
    })
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async actions => {
        const { pool, memory } = open(4, 1500, reserves)
        const rows: number[][] = [[], [], [], []]
        const lengths = () => rows.map(({ length }) => length)
        await pool.reserve(1, lengths())
        for (const [step, { act, a, b, amount }] of actions.entries()) {
          const [one, other] = [rows[a] as number[], rows[b] as number[]]
          if (act === 'grow') await pool.reserve(Math.min(1500, pool.capacity + amount), lengths())
          else if (act === 'write') {
            if (one.length === pool.capacity) continue
            await pool.extend(a, one.length + 1)
            memory.write(a, one.length, step)
            one.push(step)
          } else if (a !== b && act === 'copy') {
            const end = Math.min(one.length, other.length)
            await pool.copy(a, b, 0, end)
            other.splice(0, end, ...one.slice(0, end))
          } else if (a !== b) {
            await pool.swap([a, b], [one.length, other.length])
            ;[rows[a], rows[b]] = [other, one]
          }
        }
        return rows.every((row, index) => row.every((value, position) => memory.read(index, position) === value))
      }),
      { numRuns: 60 }
    )
  })
}
