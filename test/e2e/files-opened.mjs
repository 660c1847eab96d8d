// Preloaded into a process. When the process exits, writes the paths of all files that it opened to FILES_OPENED.
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
