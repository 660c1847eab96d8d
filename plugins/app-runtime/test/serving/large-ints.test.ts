import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { WebSocket } from 'ws'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'

t.setTimeout(300_000)

const SOURCE = `
@table type Entry { n: int  f: float  text: str }
@mutation fn add(n: int, text: str) to int { db.Entry.insert({ n: n, f: 12345678901234567000.0, text: text }) }
@query fn entries(min: int) to List[Entry] { db.Entry.where({ n: { gte: min } }).live("entries") }
@query fn same(n: int) to int { n }
@server fn sum(numbers: List[int]) to int { numbers.fold(0, fn(a, b) a + b) }
http get "/twice/:n"(n: int) to List[int] { [n, n] }
`

type Int = number | bigint
interface Entry {
  readonly n: Int
  readonly f: number
  readonly text: string
}

t.test('the generated client keeps all digits of ints, in both directions and in live values', async t => {
  const { url } = await serveInProcess(t, SOURCE)
  const folder = mkdtempSync(join(tmpdir(), 'ints-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'client.ts')
  writeFileSync(file, await (await fetch(`${url}/api/client.ts`)).text())
  const { createClient } = await import(pathToFileURL(file).href)
  const client = createClient({ baseUrl: url, WebSocket })
  const large = 9_007_199_254_740_993n
  const text = `"[9007199254740993,1]" \\ 12345678901234567890`
  await client.add(large, text)
  await client.add(5, '9007199254740993')
  const [first, ...rest] = (await client.entries(large)) as Entry[]
  t.same([first?.n, first?.text, rest], [large, text, []])
  t.equal(first?.f, 12_345_678_901_234_567_000, 'a large float stays a number')
  t.same(await client.get_twice_n(-large), [-large, -large])
  t.equal(await client.sum([large, 1]), large + 1n)
  const values: Entry[][] = []
  await new Promise<void>((resolve, reject) => {
    const end = client.entries.live(
      { min: large },
      (value: Entry[]) => {
        values.push(value)
        if (values.length === 1) client.add(large + 1n, 'more').catch(reject)
        else {
          end()
          resolve()
        }
      },
      reject
    )
  })
  t.same(
    values.at(-1)?.map(({ n }) => n),
    [large, large + 1n]
  )
  const safe = (value: bigint): Int => (Number.isSafeInteger(Number(value)) ? Number(value) : value)
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), async value => {
      t.strictSame(await client.same(value), safe(value))
    }),
    { numRuns: 100, examples: [[2n ** 53n], [2n ** 53n - 1n], [-(2n ** 63n)], [2n ** 63n - 1n], [0n]] }
  )
})
