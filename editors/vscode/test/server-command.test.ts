import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import {
  createProtocolConnection,
  ExitNotification,
  InitializeRequest,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter
} from 'vscode-languageserver-protocol/node'
import { svcCommand } from '../src/server-command.ts'

const SVC = fileURLToPath(new URL('../../../kernel/bin/svc.cjs', import.meta.url))

t.test('the command of the setting may have arguments before those of svc', async t => {
  t.same(svcCommand(['svc'], 'lsp'), { command: 'svc', args: ['lsp'] })
  t.same(svcCommand(['node', 'svc.cjs'], 'test', 'a.vox'), { command: 'node', args: ['svc.cjs', 'test', 'a.vox'] })
  t.same(svcCommand([], 'lsp'), { command: 'svc', args: ['lsp'] })
  t.same(svcCommand(['  '], 'lsp'), { command: 'svc', args: ['lsp'] })
})

t.test('the command starts a language server that ends when the editor says so', async t => {
  const { command, args } = svcCommand([process.execPath, SVC], 'lsp', '--stdio')
  const server = spawn(command, [...args], {
    cwd: t.testdir({}),
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(server, 'exit')
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin)
  )
  t.teardown(() => connection.dispose())
  connection.listen()
  const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: {}
  })
  for (const each of ['hoverProvider', 'inlayHintProvider', 'signatureHelpProvider'] as const) t.ok(capabilities[each])
  await connection.sendRequest(ShutdownRequest.type)
  await connection.sendNotification(ExitNotification.type)
  t.same(await ended, [0, null])
})

t.test('the manifest names files that the package has', async t => {
  const path = (name: string): URL => new URL(`../${name}`, import.meta.url)
  const { contributes } = JSON.parse(readFileSync(path('package.json'), 'utf8'))
  const { languages, grammars, snippets } = contributes
  for (const name of [languages[0].configuration, grammars[0].path, snippets[0].path]) {
    t.ok(JSON.parse(readFileSync(path(name), 'utf8')), name)
  }
})

t.test('every snippet becomes a program without syntax errors', async t => {
  const { formatFile, SourceFile } = await import('@svc/plugin-compiler/testing')
  const snippets: Record<string, { readonly body: readonly string[] }> = JSON.parse(
    readFileSync(new URL('../snippets/vox.json', import.meta.url), 'utf8')
  )
  for (const [name, { body }] of Object.entries(snippets)) {
    const text = body
      .join('\n')
      .replaceAll(/\$\{\d+\|(\w+),[^}]*\}/g, '$1')
      .replaceAll(/\$\{\d+:([^}]*)\}/g, '$1')
      .replaceAll(/\$\{\d+\}/g, 'x')
      .replaceAll(/\$\d+/g, '')
      .replaceAll('assert()', 'assert(true)')
    const isStatement = ['Match', 'For'].includes(name)
    const program = isStatement ? `fn f() {\n${text.replace('None => ', 'None => 1')}\n}\n` : `${text}\n`
    const { diagnostics } = formatFile(new SourceFile('snippet.vox', program))
    t.same(
      diagnostics.map(({ message }) => message),
      [],
      `${name}\n${program}`
    )
  }
})
