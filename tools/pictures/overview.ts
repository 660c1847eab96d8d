import { arrow, box, type Picture, text } from './drawing.ts'

export function overviewPicture(): Picture {
  const surfaces = [
    ['HTTP, OpenAPI', 'port 3847'],
    ['Model APIs', 'OpenAI, Ollama …'],
    ['MCP', '/mcp, stdio'],
    ['JSON-RPC, A2A', 'daemon'],
    ['Command line', 'svc'],
    ['Console', 'in the browser']
  ] as const
  const features = [
    ['Models', ['serve, chat, embed;', 'local or hosted']],
    ['Agents and tasks', ['queue, evidence,', 'plans, mesh']],
    ['Apps', ['one file: tables,', 'routes, pages']],
    ['Search', ['files and notes,', 'by meaning']],
    ['Data, secrets', ['vault, backups,', 'replicas']],
    ['Your plugins', ['loaded while', 'svc serves']]
  ] as const
  const at = (index: number) => 30 + index * 176
  return {
    title: 'svc at a glance',
    description:
      'Editors, agents, programs, browsers and people call svc over HTTP, the OpenAI and Ollama APIs, MCP, JSON-RPC, A2A, the command line and the console. The kernel leads each call to an operation of a plugin. Models, agents and tasks, apps, search, secrets and database are plugins, as are those that you write.',
    width: 1100,
    height: 400,
    parts: [
      text(30, 36, 'Editors, agents, programs, browsers, people', 'head'),
      ...surfaces.map(([title, line], index) =>
        box({ x: at(index), y: 62, width: 160, height: 60, title, lines: [line] })
      ),
      ...surfaces.map((_, index) => arrow(`M${at(index) + 80} 122 V156`)),
      `<rect class="kernel" x="30" y="160" width="1040" height="64" rx="8"/>`,
      text(550, 186, 'Kernel: one set of operations for all surfaces', 'name mid'),
      text(
        550,
        208,
        'scopes, schemas, limits, traces; plugins and settings change in transactions, without a failed request',
        'small mid'
      ),
      ...features.map((_, index) => arrow(`M${at(index) + 80} 224 V258`)),
      ...features.map(([title, lines], index) =>
        box({ x: at(index), y: 262, width: 160, height: 84, kind: index === 5 ? 'keep' : 'plugin', title, lines })
      ),
      text(
        550,
        376,
        'Everything but the kernel and the command line is a plugin, and can be changed while svc serves.',
        'small mid'
      )
    ]
  }
}
