// Writes the files in contracts/mesh:
// node --import=./test/typescript.mjs --conditions=svc-source plugins/mesh-control/test/write-contract-files.ts
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contractFiles, FOLDER } from './contract-files.ts'

mkdirSync(FOLDER, { recursive: true })
for (const [name, text] of contractFiles()) writeFileSync(join(FOLDER, name), text)
