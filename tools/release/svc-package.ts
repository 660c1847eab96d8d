import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { originOf } from './published-manifest.ts'
import { finishPackage, type StagedPackage, type StageOptions } from './stage.ts'
import { jsonText, type Manifest, ROOT, readJson, type Workspace } from './workspaces.ts'

const SOURCE = join(import.meta.dirname, 'svc')

/** Writes the package `@svc/svc`: the program, which depends on the kernel and on all plugins of the release. */
export function stageSvcPackage(
  workspaces: readonly Workspace[],
  { scratch, version, scope }: StageOptions,
  changes: string
): StagedPackage {
  const folder = join(scratch, 'packages', '@svc', 'svc')
  mkdirSync(folder, { recursive: true })
  cpSync(SOURCE, folder, { recursive: true })
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'CHANGELOG.md'), changes)
  const names = workspaces.map(({ manifest }) => manifest.name).filter(name => name !== '@svc/config')
  const { engines, bin, files, ...manifest } = readJson<Manifest>(join(SOURCE, 'package.json'))
  const published = {
    ...{ ...manifest, version },
    ...originOf('tools/release/svc'),
    ...{ engines, bin, files },
    dependencies: Object.fromEntries(names.map(name => [name, version]))
  }
  writeFileSync(join(folder, 'package.json'), jsonText(published))
  return finishPackage(folder, scope)
}
