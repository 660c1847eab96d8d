// Records the files of temporary folders before they are removed, and of those that are left at the end: whatever wrote
// them, the database included.
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, resolve, sep } from 'node:path'
import { caller, isTestFile } from './frames.mjs'
import { registerFile, SECRET_FILE } from './sources.mjs'

const MAX_FILE_BYTES = 16 * 2 ** 20
const MAX_FOLDER_BYTES = 128 * 2 ** 20
/**
 * Folders and files that svc does not write: dependencies, weights, recordings, builds, the profile of a browser. Nor the
 * log of PostgreSQL: its tables are read.
 */
const FOREIGN_FOLDER = /^(?:node_modules|\.git|playwright.*|\.cache|pg_wal)$/
const FOREIGN_FILE = /\.(?:gguf|onnx|safetensors|wav|v8|tgz|node|so|wasm)$/

const { lstatSync, readdirSync, readFileSync } = fs

export function watchRemovals(recorder, root) {
  const sweep = new Sweep(recorder, root)
  for (const name of ['rmSync', 'rm']) {
    const remove = fs[name]
    fs[name] = function (path, ...rest) {
      sweep.folder(path)
      return Reflect.apply(remove, this, [path, ...rest])
    }
  }
  const { rm } = fs.promises
  fs.promises.rm = async function (path, ...rest) {
    sweep.folder(path)
    return Reflect.apply(rm, this, [path, ...rest])
  }
  watchInputs(sweep, root)
  const made = watchNewFolders()
  process.on('exit', () => {
    for (const path of made) sweep.folder(path)
  })
}

/** A file that a test writes is its input, not an output of svc. */
function watchInputs(sweep, root) {
  const { writeFileSync, promises } = fs
  const { writeFile } = promises
  fs.writeFileSync = function (path, ...rest) {
    const isInput = isTestFile(caller(root))
    Reflect.apply(writeFileSync, this, [path, ...rest])
    if (isInput) sweep.input(path)
  }
  promises.writeFile = async function (path, ...rest) {
    const isInput = isTestFile(caller(root))
    await Reflect.apply(writeFile, this, [path, ...rest])
    if (isInput) sweep.input(path)
  }
}

/** Returns the list of temporary folders that this process creates, to which later ones are added. */
function watchNewFolders() {
  const made = []
  const { mkdtempSync, promises } = fs
  const { mkdtemp } = promises
  fs.mkdtempSync = function (...args) {
    const path = Reflect.apply(mkdtempSync, this, args)
    made.push(path)
    return path
  }
  promises.mkdtemp = async function (...args) {
    const path = await Reflect.apply(mkdtemp, this, args)
    made.push(path)
    return path
  }
  return made
}

class Sweep {
  #recorder
  /** Folders below which files are recorded. */
  #temporary
  /** Sizes and times of files that are recorded already, or that tests wrote. */
  #stamps = new Map()
  #left = 0

  constructor(recorder, root) {
    this.#recorder = recorder
    this.#temporary = [join(root, '.tap', 'fixtures'), resolve(tmpdir())]
  }

  input(path) {
    if (typeof path !== 'string') return
    const file = resolve(path)
    try {
      this.#stamps.set(file, stampOf(lstatSync(file)))
    } catch {
      // Removed meanwhile.
    }
  }

  /** Records the files below a folder, or a single file, unless they have not changed since the last time. */
  folder(path) {
    if (typeof path !== 'string') return
    const folder = resolve(path)
    const above = this.#temporary.find(each => folder.startsWith(each + sep))
    if (above === undefined) return
    this.#left = MAX_FOLDER_BYTES
    this.#visit(folder, above)
  }

  #visit(path, above) {
    let stat
    try {
      stat = lstatSync(path)
      if (stat.isDirectory()) {
        for (const name of readdirSync(path)) if (!FOREIGN_FOLDER.test(name)) this.#visit(join(path, name), above)
        return
      }
    } catch {
      // Removed meanwhile, or without permission.
      return
    }
    if (!stat.isFile() || stat.size === 0 || FOREIGN_FILE.test(path)) return
    const stamp = stampOf(stat)
    if (this.#stamps.get(path) === stamp) return
    this.#stamps.set(path, stamp)
    const [, ...inner] = relative(above, path).split(sep)
    const place = inner.join('/') || basename(path)
    this.#record(path, place, stat.size)
  }

  #record(path, place, size) {
    if (size > MAX_FILE_BYTES || size > this.#left) {
      this.#recorder.skipped(place, size)
      return
    }
    this.#left -= size
    try {
      const content = readFileSync(path)
      if (SECRET_FILE.test(basename(path))) registerFile(this.#recorder, path, content)
      else this.#recorder.sink('file', place, content)
    } catch {
      this.#recorder.skipped(place, size)
    }
  }
}

function stampOf({ size, mtimeMs }) {
  return `${size}:${mtimeMs}`
}
