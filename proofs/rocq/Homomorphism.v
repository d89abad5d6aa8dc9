(* The algorithms commute with any homomorphism of operations: what is computed in
   one representation of the numbers is what the theorems talk about in another. *)
From mathcomp Require Import all_ssreflect.
From Draftproof Require Import Programs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Morph.
Variables (F G : ops) (h : F -> G).
Hypotheses (h0 : h (o0 F) = o0 G) (h1 : h (o1 F) = o1 G).
Hypothesis hadd : forall a b, h (oadd a b) = oadd (h a) (h b).
Hypothesis hsub : forall a b, h (osub a b) = osub (h a) (h b).
Hypothesis hmul : forall a b, h (omul a b) = omul (h a) (h b).
Hypothesis hdiv : forall a b, h (odiv a b) = odiv (h a) (h b).
Hypothesis hmin : forall a b, h (omin a b) = omin (h a) (h b).
Hypothesis hz : forall a, oz (h a) = oz a.

Definition dmap A (m : dist F A) : dist G A := [seq (h w.1, w.2) | w <- m].

Lemma dmap_ret A (a : A) : dmap (ret F a) = ret G a.
Proof. by rewrite /dmap /= h1. Qed.
Lemma dmap_bind A B (m : dist F A) (f : A -> dist F B) f' :
  (forall a, f' a = dmap (f a)) -> dmap (bind m f) = bind (dmap m) f'.
Proof.
move=> ff'; rewrite /dmap /bind map_flatten -!map_comp; congr flatten.
apply: eq_map => w /=; rewrite ff' /dmap -!map_comp; apply: eq_map => u /=.
by rewrite hmul.
Qed.
Lemma dmap_flip a : dmap (flip a) = flip (h a).
Proof. by rewrite /dmap /= hsub h1. Qed.

Variables (V : Type) (vs : seq V).
Lemma dmap_draw p p' : p' =1 h \o p -> dmap (draw vs p) = draw (F := G) vs p'.
Proof. by move=> reach; rewrite /dmap /draw -map_comp; apply: eq_map => x /=; rewrite reach. Qed.

Section Step.
Variables (pi : F) (pi' : G) (p q : V -> F) (p' q' : V -> G).
Hypotheses (ei : pi' = h pi) (ep : p' =1 h \o p) (eq : q' =1 h \o q).
Lemma h_acc x : acc pi' p' q' x = h (acc pi p q x).
Proof. by rewrite /acc ep eq ei /= hz; case: ifP; rewrite ?hmin ?hdiv ?hmul ?h1. Qed.
Lemma h_excess x : excess pi' p' q' x = h (excess pi p q x).
Proof. by rewrite /excess ep eq ei /= hsub hmin hmul. Qed.
Lemma h_exmass : exmass vs pi' p' q' = h (exmass vs pi p q).
Proof. by rewrite /exmass; elim: vs => //= x r ->; rewrite hadd h_excess. Qed.
Lemma h_res : res vs pi' p' q' =1 h \o res vs pi p q.
Proof. by move=> x /=; rewrite /res h_exmass hz; case: ifP; rewrite ?ep //= hdiv h_excess. Qed.
Lemma h_respi : respi vs pi' p' q' = h (respi vs pi p q).
Proof. by rewrite /respi h_exmass hz; case: ifP; rewrite ?h0 // hdiv hadd hsub h1 ei. Qed.
End Step.

Fixpoint tmap (d : dtree F V) : dtree G V :=
  match d with
  | Leaf => @Leaf G V
  | Draft q c n => @Draft G V (h \o q) (fun x => tmap (c x)) (fun x => tmap (n x))
  end.

Variables (p : seq V -> V -> F) (p' : seq V -> V -> G).
Hypothesis ep : forall s, p' s =1 h \o p s.

Lemma h_rrs d pt pt' s : pt' =1 h \o pt ->
  recursive_rejection vs p' (tmap d) pt' s = dmap (recursive_rejection vs p d pt s).
Proof.
elim: d pt pt' s => [|q c IHc n IHn] pt pt' s e /=; apply/esym.
  by rewrite -(dmap_draw e); apply: dmap_bind => x; rewrite dmap_ret.
rewrite -(dmap_draw (frefl _)); apply: dmap_bind => x; apply/esym.
rewrite (@dmap_bind _ _ _ _ (fun b : bool => if b then bind (recursive_rejection vs p' (tmap (c x)) (p' (rcons s x)) (rcons s x))
   (fun t => ret G (x :: t)) else recursive_rejection vs p' (tmap (n x)) (res vs (o1 G) pt' (h \o q)) s)) => [|[]].
- by rewrite dmap_flip (h_acc (pi := o1 F) (p := pt) (q := q) _ e) // h1.
- rewrite (IHc _ _ _ _ (ep _)); apply/esym; apply: dmap_bind => t; by rewrite dmap_ret.
by apply: IHn; apply: h_res; rewrite ?h1.
Qed.

Lemma h_trav d pi pt pt' s : pt' =1 h \o pt ->
  traversal vs p' (tmap d) (h pi) pt' s = dmap (traversal vs p d pi pt s).
Proof.
elim: d pi pt pt' s => [|q c IHc n IHn] pi pt pt' s e /=; apply/esym.
  rewrite -dmap_flip; apply: dmap_bind => -[]; last by rewrite dmap_ret.
  by rewrite -(dmap_draw e); apply/esym; apply: dmap_bind => x; rewrite dmap_ret.
rewrite -(dmap_draw (frefl _)); apply: dmap_bind => x.
rewrite (h_acc (pi := pi) (p := pt) (q := q) _ e) // (IHc _ _ _ _ _ (ep _)).
apply/esym; apply: dmap_bind => -[b|]; first by rewrite dmap_ret.
by rewrite (h_respi (pi := pi) (p := pt) (q := q) _ e) //; apply: IHn; apply: h_res.
Qed.

Lemma h_AR m s : AR vs p' m s = dmap (AR vs p m s).
Proof.
elim: m s => [|m IH] s /=; first by rewrite /dmap /= h1.
apply/esym; rewrite -(dmap_draw (ep _)); apply: dmap_bind => x; rewrite IH.
by apply/esym; apply: dmap_bind => t; rewrite dmap_ret.
Qed.

Lemma h_follow T n s : predraw_follow vs p' T n s = dmap (predraw_follow vs p T n s).
Proof.
elim: n s => [|n IH] s /=; apply/esym; rewrite -(dmap_draw (ep _)); apply: dmap_bind => x.
  by rewrite dmap_ret.
case: (T _); last by rewrite dmap_ret.
by rewrite IH; apply/esym; apply: dmap_bind => t; rewrite dmap_ret.
Qed.
End Morph.
