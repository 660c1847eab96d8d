/** Loads the bundled program `svc` with V8's code cache: parsing and compiling it would take most of the start time. */
const { readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { Script } = require('node:vm')

const FILE = join(__dirname, '..', 'dist', 'bundle', 'main.cjs')
/** Cache file. V8 rejects a cache from another V8 version. The build removes caches of earlier bundles. */
const CACHE = `${FILE}.${process.versions.v8}-${process.arch}.v8`

const cachedData = readIfPresent(CACHE)
const parameters = 'exports, require, module, __filename, __dirname, svcImport'
const script = new Script(`(function (${parameters}) {${readFileSync(FILE, 'utf8')}\n})`, { filename: FILE, cachedData })
const bundle = { exports: {} }
const svcImport = name => import(name)
script.runInThisContext()(bundle.exports, createRequire(FILE), bundle, FILE, dirname(FILE), svcImport)
const { EXIT, main: run } = bundle.exports

/**
 * Runs the command line `argv`; resolves to the exit code. The first run with a V8 version writes the cache. It
 * contains the functions compiled so far, so a run of `--version`, which compiles few, writes none.
 */
async function main(argv) {
  const code = await run(argv)
  const usable = cachedData !== undefined && !script.cachedDataRejected
  if (!usable && !argv.includes('--version')) writeCache()
  return code
}

function readIfPresent(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

function writeCache() {
  const temporary = `${CACHE}.${process.pid}`
  try {
    writeFileSync(temporary, script.createCachedData())
    renameSync(temporary, CACHE)
  } catch {
    // The package's folder may be read-only for this user: svc then runs without the cache.
    rmSync(temporary, { force: true })
  }
}

module.exports = { EXIT, main }
