// Lists the packages whose code a build put into other files, for the notices of releases (tools/release/notices.ts).
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes `<workspace>/dist/bundled.json`: folders of packages in `node_modules`, relative to the root of the repository.
 * `builds`: esbuild's metafiles, each with the folder to which its paths are relative.
 */
export function writeBundledPackages(workspace, builds) {
  const found = new Set()
  for (const { metafile, folder = process.cwd() } of builds)
    for (const input of Object.keys(metafile.inputs)) {
      const path = relative(root, resolve(folder, input)).replaceAll('\\', '/')
      const name = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]
      if (name !== undefined) found.add(name)
    }
  const file = join(workspace, 'dist', 'bundled.json')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify([...found].sort(), null, 2)}\n`)
}
