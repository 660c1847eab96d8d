import type { EmittedFile } from '../typescript/emitted-file.ts'
import type { Template } from './template.ts'

/** Returns the files of a new project. */
export function projectFiles(name: string, template: Template): EmittedFile[] {
  return [
    { path: 'app.vox', text: template.program },
    { path: 'svc.toml', text: configuration(template) },
    { path: 'README.md', text: readme(name, template) },
    { path: '.gitignore', text: ignored(template) }
  ]
}

function configuration({ isServed, hasPages = false }: Template): string {
  const head = '# Settings of the project; `svc config list` shows all settings.\n'
  const pages = hasPages ? 'web_directory = "web"\n' : ''
  return isServed ? `${head}\n[plugins.app-runtime]\nprogram = "app.vox"\n${pages}` : head
}

function readme(name: string, { summary, isServed, hasPages = false, program }: Template): string {
  const rows = [
    ['svc check app.vox', 'reports the errors of the program'],
    ['svc run app.vox', isServed ? 'serves it on http://127.0.0.1:3000 until Ctrl-C' : 'runs it'],
    ...(isServed ? [['svc dev app.vox', 'serves it, reloads it on each save, and shows errors in the browser']] : []),
    ...(program.includes('@test') ? [['svc test app.vox', 'runs its tests']] : []),
    ['svc fmt app.vox', 'formats it'],
    ...(hasPages ? [['svc build app.vox -o web --scaffold', 'writes the source of its pages to the folder web']] : [])
  ]
  const table = rows.map(([command, does]) => `| \`${command}\` | ${does} |`)
  const pages = hasPages
    ? `
## Pages

\`svc dev app.vox\` and \`svc run app.vox\` serve the pages without an install. To work on the generated source with Vite,
and to change its starter files in \`web/app\`:

\`\`\`
svc build app.vox -o web --scaffold
cd web
npm install
npm run build
\`\`\`

puts pages into the folder \`public\`, which is then served instead. With \`npm run dev\` they are on http://127.0.0.1:3001,
and reload as soon as a build has written them again.
`
    : ''
  return `# ${name}

${summary.charAt(0).toUpperCase()}${summary.slice(1)}, in \`app.vox\`.

| Command | Does |
|---|---|
${table.join('\n')}
${pages}`
}

function ignored({ hasPages = false }: Template): string {
  const lines = ['.vox/', 'svc.local.toml', ...(hasPages ? ['node_modules/', 'public/'] : [])]
  return `${lines.join('\n')}\n`
}
