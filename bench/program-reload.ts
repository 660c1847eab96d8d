/**
 * Time from saving a program to the first response of its new route, with the other programs idle. The client polls
 * continuously from the moment the file is written. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/program-reload.ts [--json] [--reloads N] [--lines N]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    reloads: { type: 'string', default: '60' },
    lines: { type: 'string', default: '300' }
  }
})

/** Returns a program of about `lines` lines, with a new route in every revision. */
function source(revision: number, lines: number): string {
  const parts = ['@table\ntype Note {\n    text: str\n    stars: int\n}\n']
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
  parts.push(`http get "/revision-${revision}" to int { ${revision} }\n`)
  return parts.join('\n')
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const file = join(folder, 'app.vox')
const lines = Number(values.lines)
writeFileSync(join(folder, 'svc.toml'), '')
writeFileSync(file, source(0, lines))
const settings = ['app-runtime.program="app.vox"', 'app-runtime.port=0', 'http.main=false'].flatMap(each => [
  '--set',
  `plugins.${each}`
])
const bin = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
const child = spawn(process.execPath, [bin, 'serve', '--json', '--only', 'app-runtime,http,mcp', ...settings], {
  cwd: folder,
  stdio: ['ignore', 'ignore', 'pipe']
})
const agent = new Agent({ keepAlive: true })
try {
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', line => {
      const address = /app listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('exit', code => reject(new Error(`svc serve ended with ${code}`)))
  })
  const samples: number[] = []
  for (let revision = 1; revision <= Number(values.reloads); revision++) {
    // A user does not save again immediately.
    await new Promise(resolve => setTimeout(resolve, 400))
    const started = performance.now()
    writeFileSync(file, source(revision, lines))
    while ((await ask(`${url}/revision-${revision}`)) !== 200) await new Promise(resolve => setTimeout(resolve, 1))
    samples.push(performance.now() - started)
  }
  const sorted = samples.slice(5).sort((a, b) => a - b)
  const at = (quantile: number): number => sorted[Math.floor(sorted.length * quantile)] as number
  const results = { p50_ms: at(0.5), p95_ms: at(0.95), reloads: sorted.length, lines }
  if (values.json) console.log(JSON.stringify({ benchmark: 'program-reload', node: process.version, results }))
  else {
    const { p50_ms, p95_ms, reloads } = results
    console.log(`save to serving: p50 ${p50_ms.toFixed(1)} ms, p95 ${p95_ms.toFixed(1)} ms over ${reloads} reloads`)
  }
} finally {
  agent.destroy()
  child.kill()
  await once(child, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

function ask(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    }).on('error', reject)
  })
}
