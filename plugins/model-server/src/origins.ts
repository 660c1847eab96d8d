const HOSTS = ['localhost', '127.0.0.1', '0.0.0.0', '[::1]']

/**
 * Origins whose pages may always call: pages of servers on this machine, and applications that carry their pages in
 * themselves, such as Electron, Tauri and extensions of VS Code. Ollama allows the same by default.
 */
export const LOCAL_ORIGINS: readonly string[] = [
  ...HOSTS.flatMap(host => [`http://${host}`, `https://${host}`, `http://${host}:*`, `https://${host}:*`]),
  'app://*',
  'file://*',
  'tauri://*',
  'vscode-webview://*',
  'vscode-file://*'
]
