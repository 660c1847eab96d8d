/**
 * Time from saving a program to its reloaded page: compiled, bundled, swapped, loaded by Chromium and painted with data
 * of the new version. Needs `npm run build` and /usr/bin/chromium.
 *
 *   node --import tsx --conditions=svc-source bench/dev-pages.ts [--json] [--saves N] [--lines N]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    saves: { type: 'string', default: '60' },
    lines: { type: 'string', default: '300' }
  }
})

/** Saves that are not counted: code of the server and of the browser is compiled. */
const WARM_UP = 5

/** Returns a program of about `lines` lines, with a page that shows the revision and a loaded list. */
function source(revision: number, lines: number): string {
  const parts = [
    `@table
type Note {
    text: str
    stars: int
}

@query
fn notes() to List[Note] {
    db.Note.all().order_by("_id")
}

component Notes(notes: List[Note]) {
    state draft: str = ""

    view:
        <main>
            <h1>"Revision ${revision}"</h1>
            <form on:submit={ add0(draft) }>
                <input bind={draft} aria-label="Note" />
                <button type="submit">"Add"</button>
            </form>
            <p>"{len(notes)} notes"</p>
            <ul>{for note in notes { <li key={note._id}>{note.text}</li> }}</ul>
        </main>
}

routes {
    "/" to Notes with (loader: notes)
}
`
  ]
  for (let part = 0; part < lines / 12; part++) {
    parts.push(`@query
fn starred${part}(least: int) to List[Note] {
    db.Note.where({ stars: { gte: least } }).order_by("stars", "desc").limit(${part + 10})
}

@mutation
fn add${part}(text: str) to Result[int] {
    if text is "" { return Error("a note needs a text") }
    db.Note.insert({ text: text, stars: ${part} })
}
`)
  }
  return parts.join('\n')
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const file = join(folder, 'app.vox')
const lines = Number(values.lines)
writeFileSync(join(folder, 'svc.toml'), '')
writeFileSync(file, source(0, lines))
const bin = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
const argv = [bin, 'dev', 'app.vox', '--port', '0', '--set', 'plugins.http.port=0']
const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking']
})
try {
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', line => {
      const address = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('exit', code => reject(new Error(`svc dev ended with ${code}`)))
  })
  const page = await browser.newPage()
  const shown = new Map<string, number>()
  const waiting = new Map<string, () => void>()
  await page.exposeFunction('painted', (heading: string, at: number) => {
    shown.set(heading, at)
    waiting.get(heading)?.()
  })
  // Reports the first frame with a new heading, in milliseconds since the epoch.
  await page.addInitScript(`
    let last = ''
    const look = () => {
      const heading = document.querySelector('h1')?.textContent ?? ''
      if (heading !== '' && heading !== last) {
        last = heading
        const at = performance.timeOrigin + performance.now()
        requestAnimationFrame(() => painted(heading, at))
      }
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  `)
  await page.goto(url)
  await page.waitForSelector('text=Revision 0')
  const samples: number[] = []
  for (let revision = 1; revision <= Number(values.saves); revision++) {
    // A user does not save again immediately.
    await new Promise(resolve => setTimeout(resolve, 500))
    const heading = `Revision ${revision}`
    const seen = new Promise<void>(resolve => waiting.set(heading, resolve))
    const started = performance.timeOrigin + performance.now()
    writeFileSync(file, source(revision, lines))
    await seen
    samples.push((shown.get(heading) as number) - started)
  }
  const sorted = samples.slice(WARM_UP).sort((a, b) => a - b)
  const at = (quantile: number): number => sorted[Math.floor(sorted.length * quantile)] as number
  const results = { p50_ms: at(0.5), p95_ms: at(0.95), saves: sorted.length, lines }
  if (values.json) console.log(JSON.stringify({ benchmark: 'dev-pages', node: process.version, results }))
  else {
    const { p50_ms, p95_ms, saves } = results
    console.log(`save to reloaded page: p50 ${p50_ms.toFixed(0)} ms, p95 ${p95_ms.toFixed(0)} ms over ${saves} saves`)
  }
} finally {
  await browser.close()
  child.kill()
  if (child.exitCode === null) await once(child, 'exit')
  rmSync(folder, { recursive: true, force: true })
}
