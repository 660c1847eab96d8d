// Preloaded into a process: writes the path of every file that it opens to FILES_OPENED, when it exits.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'

const { appendFileSync } = fs
const opened = new Set()
const note = path => {
  if (typeof path === 'string' || path instanceof URL) opened.add(path instanceof URL ? fileURLToPath(path) : path)
}
const wrap = (owner, names) => {
  for (const name of names) {
    const original = owner[name]
    owner[name] = (path, ...rest) => {
      note(path)
      return original.call(owner, path, ...rest)
    }
  }
}
wrap(fs, ['open', 'openSync', 'readFile', 'readFileSync', 'createReadStream'])
wrap(fs.promises, ['open', 'readFile'])
syncBuiltinESMExports()
process.on('exit', () => appendFileSync(process.env.FILES_OPENED, `${[...opened].join('\n')}\n`))
