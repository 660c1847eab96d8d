// Restores an archive and kills itself before a call of the file system: kill-child.ts FILE PROJECT NUMBER.
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const [, , file = '', project = '', number = ''] = process.argv
let left = Number(number)

function counted<A extends (...args: never[]) => unknown>(call: A): A {
  return ((...args: never[]) => {
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
    return call(...args)
  }) as A
}

fs.renameSync = counted(fs.renameSync)
fs.linkSync = counted(fs.linkSync)
fs.rmSync = counted(fs.rmSync)
promises.rename = counted(promises.rename)
syncBuiltinESMExports()

const { restore } = await import('./files.ts')
await restore(file, project, { force: true })
