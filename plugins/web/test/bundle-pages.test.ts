import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type PageBundle, type PageBundler, pageBundler } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import web from '#plugin'
import { unbuilt } from './dev-server.ts'

const skip = unbuilt()

async function bundlerFor(t: Test): Promise<PageBundler> {
  let found: PageBundler | undefined
  const asks = definePlugin({
    name: 'asks',
    requires: { bundler: pageBundler },
    activate(_ctx, { bundler }) {
      found = bundler
    }
  })
  const kernel = await testKernel([web, asks], {})
  t.teardown(() => kernel.close())
  return found as PageBundler
}

const text = ({ files }: PageBundle, path: string | null): string =>
  Buffer.from(files.get(path ?? '')?.body ?? []).toString('utf8')

t.test('libraries are imported from their prebuilt files, which exist', { skip }, async t => {
  const bundler = await bundlerFor(t)
  const files = [
    {
      path: 'app/main.tsx',
      text: `import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useQuery } from '@tanstack/react-query'
import { createRouter } from '@tanstack/react-router'
import { z } from 'zod'
console.log(useState, createRoot, useQuery, createRouter, z, <p />)
`
    }
  ]
  for (const isDevelopment of [true, false]) {
    const folder = join(t.testdir({}), 'missing')
    const bundle = await bundler.bundle({ folder, files, starters: [], entry: 'app/main.tsx', isDevelopment })
    const script = text(bundle, bundle.script)
    const imported = [...script.matchAll(/"\/@svc\/(runtime\/[\w.-]+)"/g)].map(([, path = '']) => path)
    t.equal(imported.length, 6, 'five libraries and the runtime of JSX')
    for (const path of imported) {
      const file = await bundler.file(path)
      t.match(file?.type, 'text/javascript')
    }
    t.equal(script.includes('sourceMappingURL=data:'), isDevelopment)
  }
  t.equal(await bundler.file('runtime/../package.json'), null)
  t.equal(await bundler.file('runtime/none.js'), null)
  t.match((await bundler.file('dev.js'))?.type, 'text/javascript')
})

t.test('files of the user have precedence over starters, but not over generated files', { skip }, async t => {
  const bundler = await bundlerFor(t)
  const folder = t.testdir({
    app: { 'App.tsx': "export const App = 'of the user'\n" },
    'data.ts': "export const data = 'old build'\n",
    components: { 'card.ts': "export const card = 'from an alias'\n" },
    'picture.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>'
  })
  const bundle = await bundler.bundle({
    folder,
    files: [
      { path: 'data.ts', text: "export const data = 'generated'\n" },
      { path: 'worker.js', text: 'onmessage = () => {}\n' }
    ],
    starters: [
      { path: 'app/App.tsx', text: "export const App = 'a starter'\n" },
      {
        path: 'app/main.tsx',
        text: `import { card } from '@/components/card'
import { data } from '../data'
import picture from '../picture.svg'
import { App } from './App'
import './main.css'
console.log(App, data, card, picture, new URL('../worker.js?no-inline', import.meta.url))
`
      },
      { path: 'app/main.css', text: "@import './more.css';\n.a { background: url('../picture.svg') }\n" },
      { path: 'app/more.css', text: '.b { color: red }\n' }
    ],
    entry: 'app/main.tsx',
    isDevelopment: true
  })
  t.same(bundle.inputs.map(path => relative(folder, path)).sort(), ['app/App.tsx', 'components/card.ts', 'picture.svg'])
  const script = text(bundle, bundle.script)
  for (const word of ['of the user', 'generated', 'from an alias']) t.match(script, word)
  for (const word of ['a starter', 'old build']) t.notMatch(script, word)
  t.match(text(bundle, bundle.styles), /\.b \{[^}]*\}[\s\S]*\.a \{/)
  const picture = [...bundle.files.keys()].find(path => path.endsWith('.svg'))
  t.match(script, picture as string)
  t.match(text(bundle, bundle.styles), picture as string)
  t.match(text(bundle, '/@svc/pages/worker.js'), 'onmessage', 'scripts that are referred to by URL')
})

t.test('a CommonJS package of the user gets the same React', { skip }, async t => {
  const bundler = await bundlerFor(t)
  const folder = t.testdir({ 'main.tsx': "import { hook } from 'hooks'\nconsole.log(hook)\n" })
  mkdirSync(join(folder, 'node_modules/hooks'), { recursive: true })
  writeFileSync(join(folder, 'node_modules/hooks/package.json'), '{"name": "hooks", "main": "index.js"}')
  writeFileSync(
    join(folder, 'node_modules/hooks/index.js'),
    "const react = require('react')\nexports.hook = () => react.useState(1)\n"
  )
  const bundle = await bundler.bundle({ folder, files: [], starters: [], entry: 'main.tsx', isDevelopment: false })
  const script = text(bundle, bundle.script)
  t.match(script, /from"\/@svc\/runtime\/react-/)
  t.notMatch(script, /\brequire\(/)
})

t.test('errors name the place, show the source, and say what to do', { skip }, async t => {
  const bundler = await bundlerFor(t)
  const folder = t.testdir({
    'main.tsx': "import chart from 'leftpad-chart'\nimport { a } from './missing'\nconsole.log(chart, a)\n"
  })
  const bundling = bundler.bundle({ folder, files: [], starters: [], entry: 'main.tsx', isDevelopment: true })
  const error = await bundling.then(
    () => null,
    (error: unknown) => error as Error
  )
  t.match(error, {
    code: 'WEB_BUNDLE_FAILED',
    at: { file: join(folder, 'main.tsx'), line: 1, column: 19 },
    hint: 'install the package in the folder of the module: npm install leftpad-chart'
  })
  t.match(error?.message, `${join(folder, 'main.tsx')}:2:19: Could not resolve "./missing"`)
  t.match(error?.message, "2 | import { a } from './missing'\n  |                   ^^^^^^^^^^^")
})
