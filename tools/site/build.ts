// Builds the documents into a site, in tools/site/dist. Usage:
//
//   npm run docs:site [-- --base /docs/] [--check] [--serve] [--port 5173]
//
//   --base PATH   path of the site on its server; / without it
//   --check       check links, anchors, images and requests of the built pages; exit code 1 if one is broken
//   --serve       do not build: serve the documents, and reload the page when one is saved
//   --port PORT   port of --serve; 0 chooses a free one
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkInBrowser } from './browser-check.ts'
import { brokenLinks } from './check.ts'
import { API, ROOT } from './pages.ts'

const SITE = join(ROOT, 'tools/site')
export const DIST = join(SITE, 'dist')

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    check: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '5173' }
  }
})
const base = `/${values.base}/`.replaceAll(/\/+/g, '/')

if (!existsSync(join(SITE, 'node_modules/vitepress'))) await run('npm', 'ci')
if (values.serve) {
  if (!existsSync(join(ROOT, API))) await buildApi()
  await vitepress('dev', '.', '--port', values.port)
} else {
  await buildApi()
  await vitepress('build', '.')
  if (values.check) {
    const problems = [...brokenLinks(DIST, base), ...(await checkInBrowser(DIST, base))]
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    process.stdout.write(`${problems.length} problems\n`)
    if (problems.length > 0) process.exitCode = 1
  }
}

/** Writes the pages of the SDK and the contracts from the comments of their sources. */
async function buildApi(): Promise<void> {
  for (const name of ['plugin-sdk', 'contracts']) {
    const out = join(ROOT, API, name)
    await run(process.execPath, 'node_modules/typedoc/bin/typedoc', '--options', `typedoc.${name}.json`, '--out', out)
  }
}

async function vitepress(...argv: readonly string[]): Promise<void> {
  const { bin } = JSON.parse(readFileSync(join(SITE, 'node_modules/vitepress/package.json'), 'utf8')) as {
    bin: { vitepress: string }
  }
  await run(process.execPath, join('node_modules/vitepress', bin.vitepress), ...argv)
}

/** Runs a command in the folder of the site. Ends this process with the exit code of one that fails. */
async function run(command: string, ...argv: readonly string[]): Promise<void> {
  const child = spawn(command, argv, { cwd: SITE, stdio: 'inherit', env: { ...process.env, SVC_DOCS_BASE: base } })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0) process.exit(code ?? (signal === 'SIGINT' ? 130 : 1))
}
