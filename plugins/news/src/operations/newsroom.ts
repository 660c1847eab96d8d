import type { NewsChannel } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { newsErrors } from '../errors.ts'
import type { NewsItem } from '../items/item.ts'
import { type ScanResult, scanItems } from '../items/scan.ts'
import type { Settings } from '../settings.ts'

export interface NewsroomOptions {
  readonly projectRoot: string
  readonly settings: () => Settings
  readonly channels: () => readonly NewsChannel[]
}

/** Reads the items of the project. */
export class Newsroom {
  readonly #options: NewsroomOptions

  constructor(options: NewsroomOptions) {
    this.#options = options
  }

  /** Throws `NEWS_FOLDER_REFUSED` and the signal's reason. */
  scan(signal: AbortSignal): Promise<ScanResult> {
    const { projectRoot, settings, channels } = this.#options
    const { news_dir, scan_recursive } = settings()
    return scanItems({ projectRoot, folder: news_dir, recursive: scan_recursive, channels: channels(), signal })
  }

  /** Returns an item. Throws `NEWS_UNKNOWN`, and `NEWS_ITEM_INVALID` if a file has this name but has errors. */
  async item(id: string, signal: AbortSignal): Promise<NewsItem> {
    const { items, problems } = await this.scan(signal)
    const found = items.find(item => item.id === id)
    if (found !== undefined) return found
    const problem = problems.find(({ file, message }) => fileName(file) === id || message.startsWith(`id: "${id}"`))
    if (problem !== undefined) {
      const { file, line, message, hint } = problem
      throw newsErrors.create(
        problem.code === 'NEWS_ID_DUPLICATE' ? 'NEWS_ID_DUPLICATE' : 'NEWS_ITEM_INVALID',
        `${file}:${line}: ${message}`,
        {
          hint,
          at: { file, line }
        }
      )
    }
    const near = closest(
      id,
      items.map(item => item.id)
    )
    const broken = problems.length === 0 ? '' : `; ${problems.length} problems of other files: svc news scan`
    throw newsErrors.create(
      'NEWS_UNKNOWN',
      `news item ${id}: it does not exist in ${this.#options.settings().news_dir}`,
      {
        hint: near === undefined ? `svc news scan lists all items${broken}` : `did you mean ${near}?`
      }
    )
  }

  /** Checks names of channels, and returns them without aliases. Throws `NEWS_CHANNEL_UNKNOWN`. */
  channelNames(names: readonly string[] | undefined): readonly string[] | undefined {
    return names?.map(name => this.channel(name).name)
  }

  /** Throws `NEWS_CHANNEL_UNKNOWN`. */
  channel(name: string): NewsChannel {
    const all = this.#options.channels()
    const found = all.find(each => each.name === name || each.aliases?.includes(name) === true)
    if (found !== undefined) return found
    const names = all.map(each => each.name)
    const near = closest(name, names)
    throw newsErrors.create('NEWS_CHANNEL_UNKNOWN', `channel ${name}: no plugin provides it`, {
      hint: near === undefined ? `use one of: ${names.join(', ')}` : `did you mean ${near}?`
    })
  }
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.(md|markdown)$/i, '')
}
