/** The bundled program `svc`, compiled from V8's code cache: parsing and compiling it would take most of a start. */
const { readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { Script } = require('node:vm')

const FILE = join(__dirname, '..', 'dist', 'bundle', 'main.cjs')
/** V8 accepts a cache only from its own version. The build removes caches of an earlier bundle. */
const CACHE = `${FILE}.${process.versions.v8}-${process.arch}.v8`

const cachedData = readIfPresent(CACHE)
const parameters = 'exports, require, module, __filename, __dirname, svcImport'
const script = new Script(`(function (${parameters}) {${readFileSync(FILE, 'utf8')}\n})`, { filename: FILE, cachedData })
const bundle = { exports: {} }
const svcImport = name => import(name)
script.runInThisContext()(bundle.exports, createRequire(FILE), bundle, FILE, dirname(FILE), svcImport)
const { EXIT, main: run } = bundle.exports

/**
 * Runs the command line `argv`; resolves to the exit code. The first run on a version of V8 writes the cache, with the
 * functions that it has compiled. `--version` compiles too few of them.
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
    // The package may lie in a folder that this user cannot write: svc then starts without the cache.
    rmSync(temporary, { force: true })
  }
}

module.exports = { EXIT, main }
