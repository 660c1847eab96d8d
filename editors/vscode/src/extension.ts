import {
  commands,
  type ExtensionContext,
  ProcessExecution,
  Task,
  TaskRevealKind,
  TaskScope,
  tasks,
  Uri,
  window,
  workspace
} from 'vscode'
import { LanguageClient, TransportKind } from 'vscode-languageclient/node'
import { type Command, svcCommand } from './server-command.ts'

let client: LanguageClient | null = null

/** Called by the editor when a `.vox` file is opened. */
export async function activate({ subscriptions }: ExtensionContext): Promise<void> {
  subscriptions.push(
    commands.registerCommand('vox.restartServer', restart),
    commands.registerCommand('vox.runTest', runTest),
    workspace.onDidChangeConfiguration(async change => {
      if (change.affectsConfiguration('vox.server')) await restart()
    }),
    workspace.onDidGrantWorkspaceTrust(restart)
  )
  await start()
}

export async function deactivate(): Promise<void> {
  await stop()
}

async function start(): Promise<void> {
  // A folder can set the command of the server, so an untrusted one must not start it.
  if (!workspace.isTrusted) return
  const { command, args } = svc('lsp')
  client = new LanguageClient(
    'vox',
    'Vox',
    { command, args: [...args], transport: TransportKind.stdio, options: { shell: process.platform === 'win32' } },
    { documentSelector: [{ scheme: 'file', language: 'vox' }] }
  )
  try {
    await client.start()
  } catch {
    client = null
    const open = 'Open Settings'
    const chosen = await window.showErrorMessage(
      `${command}: the language server does not start; install svc or set vox.server.command`,
      open
    )
    if (chosen === open) await commands.executeCommand('workbench.action.openSettings', 'vox.server.command')
  }
}

async function stop(): Promise<void> {
  const running = client
  client = null
  await running?.dispose()
}

async function restart(): Promise<void> {
  await stop()
  await start()
}

/** Runs a test of a file. The code lenses of the language server call it. */
async function runTest(uri: string, name: string): Promise<void> {
  const file = Uri.parse(uri)
  const { command, args } = svc('test', file.fsPath, '--filter', name)
  const scope = workspace.getWorkspaceFolder(file) ?? TaskScope.Workspace
  const task = new Task({ type: 'vox', test: name }, scope, name, 'svc', new ProcessExecution(command, [...args]))
  task.presentationOptions = { reveal: TaskRevealKind.Always, clear: true }
  await tasks.executeTask(task)
}

function svc(...args: readonly string[]): Command {
  return svcCommand(workspace.getConfiguration('vox').get<string[]>('server.command') ?? [], ...args)
}
