import type { ChannelText } from '@svc/contracts'
import { type CutOptions, cutText } from '../text/cut.ts'
import { lengthOf, type Meter } from '../text/meters.ts'

/** Returns a summary and, in a paragraph below it, its link, within the limits. The link is never shortened. */
export function summaryWithLink(
  summary: string,
  link: string,
  meters: readonly Meter[],
  options: Omit<CutOptions, 'meters'> = {}
): string {
  const end = `\n\n${link}`
  const left = meters.map(meter => ({ ...meter, limit: meter.limit - lengthOf(end, meter) }))
  if (summary === '' || left.some(({ limit }) => limit < 1)) return link
  return `${cutText(summary, { ...options, meters: left })}${end}`
}

export function channelText(label: string, text: string, meter: Meter): ChannelText {
  return { label, text, length: lengthOf(text, meter), limit: meter.limit, unit: meter.unit }
}
