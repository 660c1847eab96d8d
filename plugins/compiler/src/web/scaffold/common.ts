import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { platformsOf } from '../build-target.ts'
import {
  CAPACITOR_DEV_DEPENDENCIES,
  CAPACITOR_PLATFORMS,
  DEPENDENCIES,
  DEV_DEPENDENCIES,
  EXPRESS_DEPENDENCIES,
  EXPRESS_DEV_DEPENDENCIES,
  START_DEPENDENCIES
} from '../versions.ts'
import type { ScaffoldInputs } from './scaffold-inputs.ts'

export type Layout = 'spa' | 'start'

/**
 * Generates the files of both layouts: styles, and the configuration of shadcn/ui, TypeScript and npm. The styles are
 * in `folder`.
 */
export function commonScaffold(inputs: ScaffoldInputs, layout: Layout): EmittedFile[] {
  const folder = layout === 'spa' ? 'app' : 'src'
  return [
    { path: `${folder}/globals.css`, text: globals(inputs.hasTokens) },
    { path: layout === 'spa' ? 'app/components.json' : 'components.json', text: json(components(folder, layout)) },
    { path: 'tsconfig.json', text: json(tsconfig(layout)) },
    { path: 'package.json', text: json(manifest(inputs, layout)) }
  ]
}

/** Styles of elements, so that a page without other styles is readable and follows the theme of the system. */
function globals(hasTokens: boolean): string {
  const head = hasTokens ? "@import '../vox-tokens.css';\n\n" : ''
  return `${head}:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e6e8eb);
  --muted: light-dark(#57606a, #9aa4b2);
  --surface: light-dark(#ffffff, #16181d);
  --raised: light-dark(#f6f8fa, #20242b);
  --border: light-dark(#8c959f, #6b7480);
  --accent: light-dark(#0550ae, #79b8ff);
  --on-accent: light-dark(#ffffff, #0b1622);
  --danger: light-dark(#b42318, #ff8a80);
  font-family: system-ui, sans-serif;
  line-height: 1.5;
  background: var(--surface);
  color: var(--text);
}

*,
*::before,
*::after {
  box-sizing: border-box;
}

body {
  margin: 0 auto;
  max-width: 60rem;
  padding: 1rem;
}

h1 {
  font-size: 1.6rem;
  line-height: 1.25;
}

a {
  color: var(--accent);
}

button,
input,
select,
textarea {
  font: inherit;
  color: inherit;
}

input:not([type='checkbox'], [type='radio'], [type='range'], [type='color']),
select,
textarea {
  max-width: 100%;
  padding: 0.4rem 0.6rem;
  border: 1px solid var(--border);
  border-radius: 6px;
  background: var(--surface);
}

::placeholder {
  color: var(--muted);
  opacity: 1;
}

button {
  padding: 0.4rem 0.9rem;
  border: 1px solid var(--border);
  border-radius: 6px;
  background: var(--raised);
  cursor: pointer;
}

button[type='submit'] {
  border-color: var(--accent);
  background: var(--accent);
  color: var(--on-accent);
}

button:disabled {
  border-color: var(--border);
  background: var(--raised);
  color: var(--muted);
  cursor: not-allowed;
}

:focus-visible {
  outline: 2px solid var(--accent);
  outline-offset: 2px;
}

form {
  display: flex;
  flex-wrap: wrap;
  align-items: end;
  gap: 0.5rem;
  margin: 1rem 0;
}

form label {
  display: grid;
  gap: 0.15rem;
}

form > p {
  flex-basis: 100%;
  margin: 0;
}

li {
  margin-block: 0.35rem;
}

li > button {
  margin-inline-start: 0.75rem;
}

table {
  border-collapse: collapse;
}

th,
td {
  padding: 0.35rem 0.75rem;
  border-bottom: 1px solid var(--border);
  text-align: left;
}

pre {
  overflow-x: auto;
}

[role='alert'] {
  color: var(--danger);
}

.empty {
  color: var(--muted);
}
`
}

function components(folder: string, layout: Layout): object {
  return {
    $schema: 'https://ui.shadcn.com/schema.json',
    style: 'new-york',
    rsc: false,
    tsx: true,
    tailwind: {
      config: '',
      css: layout === 'spa' ? 'app/globals.css' : 'src/globals.css',
      baseColor: 'neutral',
      cssVariables: true
    },
    aliases: {
      components: `@/${folder}/components`,
      ui: `@/${folder}/components/ui`,
      lib: `@/${folder}/lib`,
      hooks: `@/${folder}/hooks`,
      utils: `@/${folder}/lib/utils`
    }
  }
}

function tsconfig(layout: Layout): object {
  return {
    compilerOptions: {
      target: 'ES2023',
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      module: 'ESNext',
      moduleResolution: 'bundler',
      jsx: 'react-jsx',
      strict: true,
      noEmit: true,
      isolatedModules: true,
      skipLibCheck: true,
      types: ['vite/client'],
      paths: { '@/*': ['./*'] }
    },
    include: ['*.ts', '*.tsx', layout === 'spa' ? 'app' : 'src'],
    // `server.ts` runs in Node; pages must not see the types of Node.
    exclude: ['server.ts', 'node_modules']
  }
}

function manifest(inputs: ScaffoldInputs, layout: Layout): object {
  const { name, imported, hasExpress, hasRoutes, hasHooks, mobileTarget } = inputs
  const platforms = mobileTarget === null ? [] : platformsOf(mobileTarget)
  const needed = new Set([
    'react',
    'react-dom',
    ...imported,
    ...(hasHooks ? ['@tanstack/react-query'] : []),
    ...(hasRoutes || layout === 'start' ? ['@tanstack/react-router'] : []),
    ...(mobileTarget === null ? [] : ['@capacitor/core'])
  ])
  const dependencies = Object.entries(DEPENDENCIES).filter(([module]) => needed.has(module))
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: {
      dev: 'vite',
      build: 'vite build',
      check: 'tsc --noEmit',
      ...Object.fromEntries(platforms.map(each => [`add:${each}`, `cap add ${each}`])),
      ...Object.fromEntries(platforms.map(each => [`sync:${each}`, `vite build && cap sync ${each}`]))
    },
    dependencies: sorted({
      ...Object.fromEntries(dependencies),
      ...(layout === 'start' ? START_DEPENDENCIES : {}),
      ...Object.fromEntries(platforms.map(each => [`@capacitor/${each}`, CAPACITOR_PLATFORMS[each]])),
      ...(hasExpress ? EXPRESS_DEPENDENCIES : {})
    }),
    devDependencies: sorted({
      ...DEV_DEPENDENCIES,
      ...(mobileTarget === null ? {} : CAPACITOR_DEV_DEPENDENCIES),
      ...(hasExpress ? EXPRESS_DEV_DEPENDENCIES : {})
    })
  }
}

function sorted(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
