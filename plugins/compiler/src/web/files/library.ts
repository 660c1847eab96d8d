import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { packageName } from '../../typescript/names.ts'
import { DEPENDENCIES } from '../versions.ts'
import type { WebModule } from '../web-module.ts'

/** Modules exported by name, and modules exported as an object because their functions may share names. */
const STARS = ['types', 'schema', 'schemas', 'urls', 'state_machines']
const OBJECTS = {
  'vox-client': 'client',
  'vox-tanstack-query': 'hooks',
  activities: 'activities',
  mobile: 'mobile'
} as const

/** Generates the files that make a build a package: `package.json` and `index.ts`. */
export function libraryFiles(
  web: WebModule,
  files: readonly EmittedFile[],
  components: ReadonlyMap<string, string>
): EmittedFile[] {
  const has = (stem: string): boolean => files.some(({ path }) => path === `${stem}.ts` || path === `${stem}.tsx`)
  const lines = [
    ...STARS.filter(has).map(stem => `export * from './${stem}'`),
    ...Object.entries(OBJECTS)
      .filter(([stem]) => has(stem))
      .map(([stem, name]) => `export * as ${name} from './${stem}'`),
    ...[...components].map(([name, path]) => `export { ${name} } from './${path.replace(/\.tsx?$/, '')}'`)
  ]
  const uses = (module: string): boolean => files.some(({ text }) => text.includes(`from '${module}'`))
  const peers = Object.entries(DEPENDENCIES).filter(([module]) => uses(module))
  const manifest = {
    name: packageName(web.name),
    version: '0.1.0',
    private: true,
    type: 'module',
    exports: { '.': './index.ts', './routes.manifest.json': './routes.manifest.json' },
    ...(peers.length === 0 ? {} : { peerDependencies: Object.fromEntries(peers) })
  }
  return [
    { path: 'index.ts', text: [header(web.name), ...(lines.length === 0 ? ['export {}'] : lines), ''].join('\n') },
    { path: 'package.json', text: `${JSON.stringify(manifest, null, 2)}\n` }
  ]
}
