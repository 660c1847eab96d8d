// Links workspace packages that were added after the last `npm install`, so that a checkout builds after a pull.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const scope = join(root, 'node_modules', '@svc')
const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
mkdirSync(scope, { recursive: true })
for (const folder of workspaces.filter(each => !each.includes('*'))) {
  const link = join(scope, folder)
  // On Windows, only junctions need no right of an administrator. Other systems ignore the kind.
  if (!existsSync(link)) symlinkSync(join('..', '..', folder), link, 'junction')
}
