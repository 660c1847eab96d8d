import { errorTable } from '@svc/plugin-sdk'

export const newsErrors = errorTable({
  NEWS_CHANNEL_UNKNOWN: { message: 'No plugin provides a channel of this name.', status: 404 },
  NEWS_DATABASE_MISSING: { message: 'The news need the database, which is not available.', status: 503 },
  NEWS_FEED_BUSY: { message: 'Another process writes the feed file.', status: 503 },
  NEWS_FEED_INVALID: { message: 'The feed file cannot be read or written.', status: 422 },
  NEWS_FOLDER_REFUSED: { message: 'The folder of the news cannot be read, or is outside the project.', status: 403 },
  NEWS_ID_DUPLICATE: { message: 'Several news items have this id.', status: 409 },
  NEWS_ITEM_INVALID: { message: 'A news item has errors.', status: 422 },
  NEWS_PLACE_LOST: { message: 'Another process has taken over the sending of a post.', status: 409 },
  NEWS_RESOLVE_REFUSED: { message: 'The outcome of a post is not open.', status: 409 },
  NEWS_SETTINGS_INVALID: { message: 'A setting of the news has an invalid value.', status: 500 },
  NEWS_UNKNOWN: { message: 'There is no news item with this id.', status: 404 }
})
