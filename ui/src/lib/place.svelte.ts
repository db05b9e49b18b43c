// Where in which story the page is: screens tell it, the shell and the palette read it.
class Place {
  chat = $state<string | null>(null);
  title = $state('');
  /** The turn looked at last. */
  turn = $state<number | null>(null);
  /** Who speaks for the model there. */
  speaker = $state<string | null>(null);
  /** Whether this server remembers. */
  hasMemory = $state(false);
  /** What the top bar says after the story. */
  crumb = $state('');

  enter(chat: string): void {
    if (this.chat === chat) return;
    this.chat = chat;
    this.title = '';
    this.turn = null;
    this.speaker = null;
  }
}

export const place = new Place();
